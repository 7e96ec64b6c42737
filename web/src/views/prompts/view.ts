// Prompts with answers: effects of components, of activations at each position, and of paths between layers.
import type { Chart } from "../../chart/chart";
import type { HeatmapChart } from "../../chart/heatmap";
import { format_number } from "../../chart/number_format";
import { rows_of } from "../../data/report";
import type { AnalysisId } from "../../data/report_file";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { absent_analysis, row, section, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import type { Reading } from "../../shaping/reading";
import { heads_chart, layers_chart } from "./component_charts";
import { patching_charts } from "./patching_charts";
import { path_charts } from "./path_charts";

const kIds: readonly AnalysisId[] = ["ablate_prompts", "ablate_patching", "ablate_path"];
const kDirections = ["denoising", "noising"] as const;

const charts = (reading: Reading): Chart[] => [
  ...kDirections.flatMap((direction) => heads_chart(reading, direction) ?? []),
  ...kDirections.flatMap((direction) => layers_chart(reading, direction) ?? []),
  ...patching_charts(reading),
  ...path_charts(reading).flat(),
];

/** The logit differences that effects are shares of. */
function summary({ report, model }: Context): string {
  const [first] = rows_of(report, "ablate_prompts", model.name);
  if (!first) return "Effects of components on prompts with a correct and an incorrect answer.";
  const clean = format_number(first.logit_difference, "score");
  const corrupted = first.corrupted_logit_difference;
  return (
    `Logit difference of the correct and the incorrect answer, mean over ${first.prompts} prompts: ${clean} on clean prompts` +
    (corrupted === null ? ". " : `, ${format_number(corrupted, "score")} on corrupted prompts. `) +
    "Effects are shares of this gap, and they are not additive."
  );
}

function components(context: Context): HTMLElement {
  const { theme } = context;
  const choose = ({ row: layer, column }: { row: number; column: number }) => context.go({ l: layer, h: column }, "heads");
  const heads = kDirections.flatMap((direction) => heads_chart(context, direction) ?? []);
  const layers = kDirections.flatMap((direction) => layers_chart(context, direction) ?? []);
  if (heads.length + layers.length === 0) {
    return section("Components", null, absent_analysis(context, "effect of each component on prompts", "ablate_prompts"));
  }
  return section(
    "Components",
    "Denoising: the clean output of one component is patched into the corrupted run. Noising: its corrupted output into the clean run. " +
      "Select a head to see its circuits.",
    heads.length > 0
      ? row(460, ...heads.map((chart) => chart_frame(chart, theme, { on_choose: choose })))
      : absent_analysis(context, "effect of each head on prompts", "ablate_prompts"),
    row(460, ...layers.map((chart) => chart_frame(chart, theme))),
  );
}

/** Heat maps of a few positions fit next to each other. */
function arranged(charts: readonly { chart: HeatmapChart; frame: HTMLElement }[]): HTMLElement {
  const most = Math.max(...charts.map(({ chart }) => chart.columns.labels.length));
  const frames = charts.map(({ frame }) => frame);
  return most <= 10 ? row(460, ...frames) : h("div", {}, frames);
}

function draw(context: Context): HTMLElement {
  const { theme } = context;
  const positions = patching_charts(context);
  const paths = path_charts(context);
  return h(
    "div",
    {},
    h("div", { class: "view-head" }, h("div", {}, h("h1", { class: "view" }, "Prompts"), h("p", { class: "note" }, summary(context)))),
    skipped_lines(context, ...kIds),
    components(context),
    section(
      "Positions",
      "The clean activation is patched into the corrupted run, at one position at a time.",
      ...(positions.length > 0
        ? [arranged(positions.map((chart) => ({ chart, frame: chart_frame(chart, theme) })))]
        : [absent_analysis(context, "activation patching at each position", "ablate_patching")]),
    ),
    section(
      "Paths",
      "The heads of one layer reach only the queries, keys or values of one later layer, or the logits. Next to these effects is the " +
        "composition of the two layers by weights.",
      ...(paths.length > 0
        ? paths.map((of_input) => row(460, ...of_input.map((chart) => chart_frame(chart, theme))))
        : [absent_analysis(context, "path patching", "ablate_path")]),
    ),
  );
}

export const prompts_view: View = {
  id: "prompts",
  title: "Prompts",
  named: ({ file }) => file.reports.some(({ id }) => kIds.includes(id)) || file.skipped.some(({ part }) => part === "ablate_prompts"),
  charts,
  draw,
};
