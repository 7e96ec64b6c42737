import type { Chart } from "../../chart/chart";
import { bytes_words, count_words } from "../../chart/number_format";
import { draw_spark } from "../../chart/sparkline";
import { map_places, rows_of } from "../../data/report";
import type { AnalysisId, AnyModel } from "../../data/report_file";
import type { Finding } from "../../findings/finding";
import { findings } from "../../findings/all_findings";
import { live_panel, missing_button } from "../../live/run_panel";
import { chart_frame } from "../../page/chart_frame";
import { h, mount, set_words } from "../../page/elements";
import { absent_analysis, absent_maps, section, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import type { Reading } from "../../shaping/reading";
import { scored_words } from "../../shaping/texts";
import { atlas_chart, head_charts, models_chart, random_baseline_chart, map_grid_chart, map_grid_title } from "./charts";

const has_spectrum = ({ report, model }: Reading) => rows_of(report, "spectrum", model.name).length > 0;
const has_maps = ({ report, model }: Reading) => map_places(report, model.name).length > 0;

function charts(reading: Reading): Chart[] {
  return [
    has_spectrum(reading) ? atlas_chart(reading) : undefined,
    has_maps(reading) ? map_grid_chart(reading) : undefined,
    ...head_charts(reading),
    random_baseline_chart(reading),
    // The same chart for every model of a report, so it is exported once.
    reading.model === reading.report.file.models[0] ? models_chart(reading) : undefined,
  ].filter((chart) => chart !== undefined);
}

/** Model info as pairs of value and unit. */
export function fact_list(model: AnyModel): [string, string][] {
  const { kv_heads } = model;
  const facts: [string, string][] = [["", model.architecture]];
  if (model.parameters !== null) facts.push([count_words(model.parameters), "parameters"]);
  const heads = model.heads === 1 ? "head" : "heads";
  facts.push(
    [String(model.layers), model.layers === 1 ? "layer" : "layers"],
    [String(model.heads), model.head_dim === null ? heads : `${heads} × ${model.head_dim}`],
  );
  if (kv_heads !== null && kv_heads !== model.heads) facts.push([String(kv_heads), `KV ${kv_heads === 1 ? "head" : "heads"}`]);
  if (model.hidden_size !== null) facts.push([model.hidden_size.toLocaleString("en"), "hidden size"]);
  if (model.vocab_size) facts.push([model.vocab_size.toLocaleString("en"), "vocabulary size"]);
  if (model.context_length) facts.push([model.context_length.toLocaleString("en"), "context length"]);
  if (model.dtype !== null) facts.push(["", model.dtype]);
  if (model.bytes !== null) facts.push(["", bytes_words(model.bytes)]);
  if (model.causal === false) facts.push(["", "bidirectional, no KV cache"]);
  else if (model.kv_cache_bytes_per_token) facts.push([bytes_words(model.kv_cache_bytes_per_token), "KV cache per token"]);
  return facts;
}

function finding_item(finding: Finding, context: Context): HTMLElement {
  const spark =
    finding.spark && finding.spark.values.filter((value) => value !== null).length > 1
      ? mount(draw_spark(finding.spark, context.theme))
      : null;
  return h(
    "li",
    { class: "finding", "data-kind": finding.kind },
    h(
      "p",
      { class: "finding-head" },
      h("span", { class: "finding-figure" }, finding.figure),
      " ",
      h("span", { class: "finding-unit" }, finding.unit),
      spark,
    ),
    h(
      "p",
      { class: "finding-words" },
      set_words(finding.words),
      " ",
      h(
        "a",
        { href: context.link(finding.see.state, finding.see.view), "aria-label": `Show: ${finding.figure} ${finding.unit}` },
        "Show\u00a0→",
      ),
    ),
  );
}

/** Why there are no findings. */
function nothing_words({ report, model }: Context): string {
  const of_model = report.file.reports.filter((each) => each.model === model.name);
  if (of_model.length === 0) return "Nothing has been measured yet.";
  if (of_model.every((each) => each.rows.length === 0)) return "This model could not be measured. The reasons are listed above.";
  return "No measure differs clearly from its baseline. See the charts below.";
}

function findings_part(context: Context): HTMLElement {
  const found = findings(context);
  return section(
    "Findings",
    scored_words(context) ?? null,
    found.length > 0
      ? h(
          "ul",
          { class: "findings" },
          found.map((each) => finding_item(each, context)),
        )
      : h("p", { class: "note" }, nothing_words(context)),
    missing_button(context.report),
  );
}

function wall_part(context: Context): HTMLElement {
  const { report, theme } = context;
  if (has_maps(context))
    return chart_frame(map_grid_chart(context), theme, {
      level: 2,
      on_choose: ({ row, column }) => context.go({ l: row, h: column }, "attention"),
    });
  if (report.live)
    return section(map_grid_title(context.model), "No attention maps yet. Run an input to show them here.", live_panel(context));
  return section(map_grid_title(context.model), null, absent_maps(context));
}

function heads_part(context: Context): HTMLElement {
  const heads = head_charts(context);
  const part = section(
    "Heads",
    "Measures of every head's circuits, from the weights alone. Rows: layers; columns: heads. Select a cell to see the head's details.",
    heads.length > 0
      ? h(
          "div",
          { class: "overview-heads" },
          heads.map((chart) =>
            chart_frame(chart, context.theme, { on_choose: ({ row, column }) => context.go({ l: row, h: column }, "heads") }),
          ),
        )
      : absent_analysis(context, "circuits of heads", "circuits"),
  );
  part.classList.add("overview-heads-part");
  return part;
}

const kAll: readonly AnalysisId[] = [
  "spectrum",
  "mla",
  "weights",
  "similarity",
  "overlap",
  "circuits",
  "composition",
  "attention",
  "attention_excluding_first",
  "induction",
];

function draw(context: Context): HTMLElement {
  const { model, theme } = context;
  const [spectra, models] = [random_baseline_chart(context), models_chart(context)];
  return h(
    "div",
    { class: "overview" },
    skipped_lines(context, ...kAll),
    h("h1", {}, model.name),
    h(
      "p",
      { class: "model-facts" },
      fact_list(model).flatMap(([figure, what]) => [h("span", {}, figure ? h("b", {}, figure) : null, figure ? ` ${what}` : what), " "]),
    ),
    findings_part(context),
    h(
      "div",
      { class: "overview-main" },
      has_spectrum(context)
        ? chart_frame(atlas_chart(context), theme, {
            level: 2,
            on_choose: ({ row }) => context.go({ l: row, h: null, layers: row, by: "layer" }, "spectra"),
          })
        : section("Rank atlas", null, absent_analysis(context, "energy rank of each matrix", "spectrum")),
      wall_part(context),
      heads_part(context),
    ),
    spectra
      ? h("section", { class: "ruled" }, chart_frame(spectra, theme, { level: 2 }))
      : section("Spectra relative to random", null, absent_analysis(context, "spectrum of each matrix", "spectrum")),
    models ? h("section", { class: "ruled" }, chart_frame(models, theme, { level: 2 })) : null,
  );
}

export const overview_view: View = { id: "overview", title: "Overview", charts, draw };
