// Comparison of several models by relative depth, and of revisions of one model by training step.
import type { Axis } from "../../chart/axis";
import type { LinesChart, Panel } from "../../chart/lines";
import { count_words } from "../../chart/number_format";
import { matrix_words } from "../../chart/rich_text";
import { range } from "../../data/numbers";
import { layers_of, rows_of } from "../../data/report";
import type { AnyModel, AttentionLayerRow, CircuitsRow } from "../../data/report_file";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { absent, absent_analysis, row, section } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import {
  all_matrices,
  all_values,
  depth_line,
  has_values,
  kDepth,
  model_series,
  ranks_by_depth,
  relative_rank,
} from "../../shaping/relative_depth";
import { usual_layers } from "../../shaping/layers";
import type { Reading } from "../../shaping/reading";
import { text_facts } from "../../shaping/texts";
import { by_step } from "../../shaping/training_steps";
import { threshold_words } from "../../shaping/shared_words";
import { comparison_charts } from "./charts";

const mean = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value): value is number => value !== null);
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
};

/** QK symmetry and OV copying score, mean over the heads of each layer. */
export function heads_by_depth({ report }: Reading): LinesChart | undefined {
  const of = (circuit: "qk" | "ov", read: (row: CircuitsRow) => number | null) =>
    report.file.models
      .map((model, index) => {
        const rows = rows_of(report, "circuits", model.name).filter((row) => row.circuit === circuit && row.head !== null);
        return depth_line(model, index, (layer) => mean(rows.filter((row) => row.layer === layer).map(read)));
      })
      .filter(has_values);
  const panels: Panel[] = [
    { title: "QK symmetry, mean over heads", lines: of("qk", (row) => row.symmetry) },
    { title: "OV copying score, mean over heads", lines: of("ov", (row) => row.copying_score) },
  ].filter((panel) => panel.lines.length > 0);
  if (panels.length === 0) return undefined;
  return {
    kind: "lines",
    name: "models-heads",
    title: "Symmetry and copying score",
    note:
      "From the weights. Symmetry +1: two tokens score each other equally; \u22121: with opposite sign. Copying score +1: all " +
      "eigenvalues of OV positive; \u22121: all negative.",
    x: kDepth,
    y: { title: "", scale: "linear", domain: [-1, 1], ticks: [-1, -0.5, 0, 0.5, 1], format: "score" },
    rule: 0,
    series: model_series(report),
    panels,
  };
}

/** MaxRank of attention maps by relative depth, which shows rank collapse. */
export function max_rank_by_depth(reading: Reading): LinesChart | undefined {
  const { report } = reading;
  const { energy } = text_facts(reading);
  // Texts are truncated to each model's context length, so lengths may differ.
  const lengths = [...new Set(report.file.models.map((model) => text_facts({ report, model }).length))].filter((each) => each > 0);
  const length = Math.max(0, ...lengths);
  const lines = report.file.models
    .map((model, index) => {
      const rows = new Map(
        rows_of(report, "attention", model.name)
          .filter((row): row is AttentionLayerRow => row.head === null)
          .map((row) => [row.layer, row]),
      );
      const line = depth_line(model, index, (layer) => rows.get(layer)?.mean_max_rank);
      return { ...line, error: range(model.layers).map((layer) => rows.get(layer)?.mean_max_rank_error ?? null) };
    })
    .filter(has_values);
  if (lines.length === 0) return undefined;
  const most = Math.max(length / 3, ...all_values([{ lines }]));
  return {
    kind: "lines",
    name: "models-max-rank",
    title: "MaxRank",
    note:
      `Highest energy rank (${Math.round(energy * 100)}%) of any attention map in a layer` +
      `${length > 0 ? ` (maximum possible: ${lengths.join(" or ")})` : ""}.` +
      (lines.some((line) => line.error.some((error) => error !== null)) ? " Error bars: standard errors." : ""),
    x: kDepth,
    y: { title: "", scale: "linear", domain: [0, most * 1.1], integers: true },
    series: model_series(report),
    panels: [{ lines }],
    points: true,
  };
}

/** Energy rank of each matrix by training step, one line per layer. Undefined for fewer than two revisions. */
export function ranks_by_step({ report, threshold }: Reading): LinesChart | undefined {
  const revisions = by_step(report.file.models);
  const first = revisions[0]?.model;
  if (!first || new Set(revisions.map(({ step }) => step)).size < 2) return undefined;
  const steps = revisions.map(({ step }) => step);
  const layers = usual_layers(layers_of(report, "spectrum", first.name));
  const panels = all_matrices(report)
    .map((matrix): Panel => ({
      title: matrix_words(matrix),
      lines: layers
        .map((layer) => ({
          series: String(layer),
          x: steps,
          y: revisions.map(({ model }) => relative_rank(report, model.name, layer, matrix, threshold)),
        }))
        .filter(has_values),
    }))
    .filter((panel) => panel.lines.length > 0);
  if (panels.length === 0) return undefined;
  return {
    kind: "lines",
    name: "models-steps",
    title: "Energy rank during training",
    note:
      `Energy rank (${threshold_words(threshold)}) divided by that of a random matrix, by training step. One line per ` +
      `layer. 1: random.`,
    x: step_axis(steps),
    y: { title: "rank / random", scale: "linear", domain: [0, Math.max(1.1, ...all_values(panels))], format: "tick" },
    rule: 1,
    series: layers.map((layer) => ({ key: String(layer), label: `layer ${layer}`, color: { layer, of: first.layers } })),
    panels,
    points: true,
  };
}

/** Logarithmic if steps span more than two decades. With a step 0, linear below the first nonzero step. */
export function step_axis(steps: readonly number[]): Axis {
  const last = Math.max(...steps);
  const after_zero = Math.min(...steps.filter((step) => step > 0));
  const wide = last / after_zero > 100;
  const axis = { title: "training step", format: "~s" };
  if (!wide) return { ...axis, scale: "linear", domain: [Math.min(...steps), last] };
  return steps.includes(0)
    ? { ...axis, scale: "symlog", domain: [0, last], ticks: [...new Set(steps)] }
    : { ...axis, scale: "log", domain: [after_zero, last] };
}

/** Charts of all models, exported once with the first model. */
export function models_charts(reading: Reading): LinesChart[] {
  if (reading.report.file.models.length < 2 || reading.model !== reading.report.file.models[0]) return [];
  const own = [ranks_by_depth(reading), heads_by_depth(reading), max_rank_by_depth(reading), ranks_by_step(reading)];
  return [...own.filter((chart) => chart !== undefined), ...comparison_charts(reading)];
}

function heads_words({ heads, kv_heads, head_dim }: AnyModel): string {
  const of_keys = kv_heads !== null && kv_heads < heads ? ` (${kv_heads} KV)` : "";
  return `${heads}${of_keys}${head_dim === null ? "" : ` × ${head_dim}`}`;
}

const kFacts: readonly [string, (model: AnyModel) => string][] = [
  ["architecture", (model) => model.architecture],
  ["parameters", (model) => (model.parameters === null ? "–" : count_words(model.parameters))],
  ["layers", (model) => String(model.layers)],
  ["heads", heads_words],
  ["hidden size", (model) => (model.hidden_size === null ? "–" : String(model.hidden_size))],
  ["MLP size", (model) => (model.intermediate_size == null ? "–" : String(model.intermediate_size))],
  ["vocabulary", (model) => (model.vocab_size == null ? "–" : count_words(model.vocab_size))],
  ["dtype", (model) => model.dtype ?? "–"],
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
      h("p", { class: "note" }, "Models are compared by relative depth, so that they can have different numbers of layers and sizes."),
    ),
  );
  if (models.length < 2) return h("div", {}, head, absent("a second model", "attnscope report MODEL OTHER -o both.html"));

  const [steps, ranks, heads, max_rank] = [
    ranks_by_step(context),
    ranks_by_depth(context),
    heads_by_depth(context),
    max_rank_by_depth(context),
  ];
  const table = h(
    "div",
    { class: "table-wrap", tabindex: 0, role: "region", "aria-label": "model info" },
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
    section("By depth", null, ranks ? chart_frame(ranks, theme) : absent_analysis(context, "spectra of these models", "spectrum", models)),
    h(
      "section",
      {},
      row(460, heads ? chart_frame(heads, theme, { level: 2 }) : null, max_rank ? chart_frame(max_rank, theme, { level: 2 }) : null),
    ),
    h(
      "section",
      {},
      comparison_charts(context).map((chart) => chart_frame(chart, theme, { level: 2 })),
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
