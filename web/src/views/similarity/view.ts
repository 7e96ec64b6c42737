import type { Chart } from "../../chart/chart";
import { head_name, matrix_words } from "../../chart/rich_text";
import { matrices_of, rows_of, skipped_reason } from "../../data/report";
import type { Matrix } from "../../data/report_file";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { layer_chips } from "../../page/layer_chips";
import { absent, absent_analysis, choice, controls, uniform_row, section, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import { chosen_layers } from "../../shaping/layers";
import type { Reading } from "../../shaping/reading";
import { choice_param, index_param } from "../../shaping/state";
import { cosine_charts, cosine_moment_chart, head_cosines_chart, overlap_by_layer_chart, overlap_chart } from "./charts";

const kScopes = ["within_head", "across_head"] as const;

const with_cosines = ({ report, model }: Reading) => rows_of(report, "similarity", model.name).length > 0;
const with_overlap = ({ report, model }: Reading) => rows_of(report, "overlap", model.name).length > 0;

function charts(reading: Reading): Chart[] {
  const cosines = with_cosines(reading)
    ? [
        ...kScopes.flatMap((scope) => cosine_charts(reading, scope)),
        cosine_moment_chart(reading, "mean"),
        cosine_moment_chart(reading, "std"),
      ]
    : [];
  const overlaps = with_overlap(reading)
    ? [
        overlap_by_layer_chart(reading),
        ...matrices_of(reading.report, "overlap", reading.model.name).flatMap((matrix) =>
          chosen_layers(reading, "overlap").flatMap((layer) => overlap_chart(reading, matrix, layer) ?? []),
        ),
      ]
    : [];
  return [...cosines, ...overlaps, ...[head_cosines_chart(reading, ...chosen_head(reading)) ?? []].flat()];
}

function cosines(context: Context): HTMLElement {
  if (!with_cosines(context)) return absent_analysis(context, "cosines between weight vectors", "similarity");
  const frames = (all: readonly Chart[]) => all.map((chart) => chart_frame(chart, context.theme));
  const histograms = rows_of(context.report, "similarity", context.model.name).some((each) => each.histogram)
    ? kScopes.map((scope) => uniform_row(context, 300, ...frames(cosine_charts(context, scope))))
    : [absent_analysis(context, "histograms of cosines", "similarity")];
  return h(
    "div",
    {},
    section(
      "Cosines between weight vectors",
      "Rows: layers. Color: density of pairs at that cosine. Ticks: mean ± 1 standard deviation. " +
        `Dashed: ± 1 standard deviation of random directions, 1/√${context.model.hidden_size}.`,
      ...histograms,
    ),
    section("By layer", null, ...frames([cosine_moment_chart(context, "mean"), cosine_moment_chart(context, "std")])),
  );
}

function overlaps(context: Context): HTMLElement {
  const { report, model, state, theme } = context;
  const title = "Subspace overlap of heads";
  if (!with_overlap(context)) return section(title, null, absent_analysis(context, "subspace overlap of heads", "overlap"));
  const matrices = matrices_of(report, "overlap", model.name);
  const matrix = choice_param(state, "matrix", matrices as [Matrix, ...Matrix[]]);
  const layers = chosen_layers(context, "overlap");
  const frames = layers.map((layer) => {
    const chart = overlap_chart(context, matrix, layer);
    if (chart) return chart_frame(chart, theme);
    const reason = skipped_reason(report, "overlap", { model: model.name, layer, matrix });
    return h(
      "p",
      { class: "absent" },
      reason === undefined ? `Layer ${layer} is not in this report.` : `Layer ${layer} was skipped: ${reason}`,
    );
  });
  return section(
    title,
    "Mean squared cosine of the principal angles between the row spaces of two heads. Heatmaps: rows and columns are heads. They share " +
      "one color scale, which starts at the overlap of random heads.",
    chart_frame(overlap_by_layer_chart(context), theme),
    controls(
      choice(
        "matrix",
        matrices.map((each) => ({ value: each, label: matrix_words(each) })),
        matrix,
        (value) => context.go({ matrix: value }),
      ),
      layer_chips(context, "overlap"),
    ),
    uniform_row(context, 250, ...frames),
  );
}

const chosen_head = ({ model, state }: Pick<Reading, "model" | "state">): [number, number] => [
  index_param(state, "l", model.layers) ?? 0,
  index_param(state, "h", model.heads) ?? 0,
];

/** Cosines within one head. A report has those of the first and last layers if they fit; for others, the command is shown. */
function one_head(context: Context): HTMLElement {
  const { model, theme } = context;
  const [layer, head] = chosen_head(context);
  const chart = head_cosines_chart(context, layer, head);
  const picker = (label: string, count: number, chosen: number, choose: (index: number) => void) =>
    h(
      "select",
      { "aria-label": label, onchange: (event: Event) => choose(Number((event.target as HTMLSelectElement).value)) },
      Array.from({ length: count }, (_, index) =>
        h("option", { value: index, selected: index === chosen }, `${label.split(" ")[0]} ${index}`),
      ),
    );
  return section(
    "Cosines within one head",
    null,
    controls(
      picker("layer of the cosines", model.layers, layer, (l) => context.go({ l })),
      picker("head of the cosines", model.heads, head, (each) => context.go({ h: each })),
    ),
    chart ? uniform_row(context, 340, chart_frame(chart, theme)) : absent_head(context, layer, head),
  );
}

function absent_head({ report, model }: Context, layer: number, head: number): HTMLElement {
  const skipped = skipped_reason(report, "similarity", { model: model.name, layer, matrix: "q" }) !== undefined;
  const commands = skipped ? [] : [`attnscope similarity MODEL --head-matrix ${layer},${head} --matrix q --format csv`];
  return absent(`cosines between all rows of ${head_name({ layer, head })}`, ...commands);
}

function draw(context: Context): HTMLElement {
  return h(
    "div",
    {},
    h("div", { class: "view-head" }, h("h1", { class: "view" }, "Similarity")),
    skipped_lines(context, "similarity", "overlap"),
    cosines(context),
    overlaps(context),
    one_head(context),
  );
}

export const similarity_view: View = { id: "similarity", title: "Similarity", charts, draw };
