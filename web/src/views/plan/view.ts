// Compression: savings and their cost in perplexity.
import { count_words, format_number } from "../../chart/number_format";
import type { PlanRow } from "../../data/report_file";
import { plan_panel } from "../../live/plan_panel";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { absent_analysis, choice, command_words, controls, uniform_row, section, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import { chosen_row, kSavings, method_rows, rise_percent, saving_of } from "../../shaping/method_comparison";
import { commands_of, cost_chart, layer_influence, layer_losses, plan_charts, planned_ranks, present_ranks, row_at_vertex } from "./charts";

const kSavingWords = { parameters: "parameters", cache: "KV cache" } as const;

const signed = (percent: number): string => `${format_number(percent, "+.1f")}%`;

const share_of = (after: number, before: number | null): string => (before ? ` (${format_number(after / before, "percent")})` : "");

/** A click on a vertex selects its row. */
function choose_by_point(context: Context, svg: SVGElement): void {
  for (const line of svg.querySelectorAll<SVGElement>("[data-series]")) {
    line.querySelectorAll<SVGElement>("circle:not(.chosen)").forEach((circle, vertex) => {
      const row = row_at_vertex(context, line.dataset.series ?? "", vertex);
      if (row === undefined) return;
      circle.style.cursor = "pointer";
      circle.addEventListener("click", () => context.go({ p: row }));
    });
  }
}

function comparison_table(context: Context): HTMLElement {
  const { model } = context;
  const chosen = chosen_row(context);
  const cells = (row: PlanRow) => [
    row.description,
    `${count_words(row.parameters)}${share_of(row.parameters, model.parameters)}`,
    `${format_number(row.kv_cache_bytes_per_token, ",")}${share_of(row.kv_cache_bytes_per_token, model.kv_cache_bytes_per_token)}`,
    format_number(row.relative_flops, "percent"),
    format_number(row.perplexity, ".2f"),
    signed(rise_percent(row)),
    row.loadable ? `yes${row.note ? `, ${row.note}` : ""}` : `no: ${row.note}`,
  ];
  const heads = [
    "method",
    "description",
    "parameters",
    "KV bytes per token",
    "relative FLOPs",
    "perplexity",
    "change",
    "loads in transformers",
  ];
  return h(
    "div",
    { class: "table-wrap", tabindex: 0, role: "region", "aria-label": "compressed models" },
    h(
      "table",
      { class: "plan-menu" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((name, index) => h("th", { scope: "col", class: index < 2 || index === 7 ? "text plain-head" : "plain-head" }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        method_rows(context).map((row, index) =>
          h(
            "tr",
            { class: row === chosen ? "chosen" : null },
            h(
              "td",
              { class: "text" },
              h("a", { href: context.link({ p: index }), "aria-current": row === chosen ? "true" : null }, row.method),
            ),
            cells(row).map((cell, column) => h("td", { class: column === 0 || column === 6 ? "text" : null }, cell)),
          ),
        ),
      ),
    ),
  );
}

function making(context: Context): HTMLElement | null {
  const row = chosen_row(context);
  const commands = row && commands_of(context, row);
  if (!commands) return null;
  const saves = row.loadable
    ? "The model loads in stock transformers."
    : "Saves nothing in transformers: the model is written with the original shapes, and only shows the cost of the ranks.";
  return h(
    "div",
    { class: "absent plan-commands" },
    h("p", {}, `To create this model (${row.method}, ${row.description}), run these commands. ${saves}`),
    commands.map(command_words),
  );
}

function menu(context: Context): HTMLElement {
  const rows = method_rows(context);
  if (rows.length === 0) return absent_analysis(context, "comparison of compression methods", "plan");
  const chart = cost_chart(context);
  return section(
    "Perplexity vs. size",
    "Select a row or a point to see the commands that create the model. Relative FLOPs: for one token, generated halfway " +
      "through the context.",
    controls(
      choice(
        "saving",
        kSavings.map((value) => ({ value, label: kSavingWords[value] })),
        saving_of(context),
        (value) => context.go({ of: value }),
      ),
    ),
    chart
      ? chart_frame(chart, context.theme, { after_draw: (svg) => choose_by_point(context, svg) })
      : h("p", { class: "absent" }, `No method saves ${kSavingWords[saving_of(context)]} in this model.`),
    making(context),
    comparison_table(context),
  );
}

function draw(context: Context): HTMLElement {
  const [losses, influence, planned, present] = [
    layer_losses(context),
    layer_influence(context),
    planned_ranks(context),
    present_ranks(context),
  ];
  return h(
    "div",
    {},
    h(
      "div",
      { class: "view-head" },
      h(
        "div",
        {},
        h("h1", { class: "view" }, "Plan"),
        h("p", { class: "note" }, "Compression of the model: what each method and size costs in perplexity."),
      ),
    ),
    plan_panel(context),
    skipped_lines(context, "plan", "plan_layers", "plan_ranks"),
    menu(context),
    losses ? section("Layers", null, chart_frame(losses, context.theme), influence ? chart_frame(influence, context.theme) : null) : null,
    planned
      ? section(
          "Ranks",
          "Rows: layers; columns: matrices.",
          uniform_row(context, 420, chart_frame(planned, context.theme), present ? chart_frame(present, context.theme) : null),
        )
      : null,
  );
}

export const plan_view: View = {
  id: "plan",
  title: "Plan",
  named: (report) =>
    report.live || report.file.reports.some(({ id }) => id.startsWith("plan")) || report.file.skipped.some(({ part }) => part === "plan"),
  charts: plan_charts,
  draw,
};
