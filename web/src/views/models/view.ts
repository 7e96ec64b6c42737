import { count_words } from "../../chart/number_format";
import type { Model } from "../../data/report_file";
import { chart_frame } from "../../page/frame";
import { h } from "../../page/h";
import { absent, absent_analysis, row, section } from "../../page/parts";
import type { Context, View } from "../../page/view";
import { ranks_by_depth } from "../../shaping/depth";
import { heads_by_depth, max_rank_by_depth, models_charts, ranks_by_step } from "./charts";

const kFacts: readonly [string, (model: Model) => string][] = [
  ["architecture", (model) => model.architecture],
  ["parameters", (model) => count_words(model.parameters)],
  ["layers", (model) => String(model.layers)],
  ["heads", (model) => `${model.heads}${model.kv_heads < model.heads ? ` (${model.kv_heads} of keys)` : ""} × ${model.head_dim}`],
  ["width", (model) => String(model.width)],
  ["MLP", (model) => (model.mlp_width == null ? "–" : String(model.mlp_width))],
  ["vocabulary", (model) => (model.vocabulary == null ? "–" : count_words(model.vocabulary))],
  ["dtype", (model) => model.dtype],
];

function draw(context: Context): HTMLElement {
  const { report, theme } = context;
  const { models } = report.file;
  const head = h(
    "div",
    { class: "view-head" },
    h(
      "div",
      {},
      h("h1", { class: "view" }, "Models"),
      h("p", { class: "note" }, "Over each other by relative depth, so that models of other lengths and widths can be compared."),
    ),
  );
  if (models.length < 2) return h("div", {}, head, absent("A second model", "attnscope report MODEL OTHER -o both.html"));

  const [steps, ranks, heads, max_rank] = [
    ranks_by_step(context),
    ranks_by_depth(context),
    heads_by_depth(context),
    max_rank_by_depth(context),
  ];
  const table = h(
    "div",
    { class: "table-wrap", tabindex: 0, role: "region", "aria-label": "facts of the models" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["model", ...kFacts.map(([name]) => name)].map((name, index) =>
            h("th", { scope: "col", class: index < 2 ? "text plain-head" : "plain-head" }, name),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        models.map((model, index) =>
          h(
            "tr",
            {},
            h("td", { class: "text" }, h("a", { href: context.link({ m: index }, "spectra") }, model.name)),
            kFacts.map(([, read], column) => h("td", { class: column === 0 ? "text" : null }, read(model))),
          ),
        ),
      ),
    ),
  );
  return h(
    "div",
    {},
    head,
    table,
    steps ? section("Revisions", null, chart_frame(steps, theme)) : null,
    section(
      "By depth",
      null,
      ranks ? chart_frame(ranks, theme) : absent_analysis(context, "The spectra of these models", "spectrum", models),
    ),
    h(
      "section",
      {},
      row(460, heads ? chart_frame(heads, theme, { level: 2 }) : null, max_rank ? chart_frame(max_rank, theme, { level: 2 }) : null),
    ),
  );
}

export const models_view: View = {
  id: "models",
  title: "Models",
  named: (report) => report.file.models.length > 1,
  charts: models_charts,
  draw,
};
