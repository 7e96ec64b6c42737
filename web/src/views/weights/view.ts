import type { Chart } from "../../chart/chart";
import { format_number } from "../../chart/number_format";
import { matrix_words, plain } from "../../chart/rich_text";
import { matrices_of, rows_of, skipped_reason } from "../../data/report";
import { chart_frame } from "../../page/chart_frame";
import { h, set_words } from "../../page/elements";
import { absent, absent_analysis, choice, controls, uniform_row, row, section, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import type { Reading } from "../../shaping/reading";
import { distribution_charts, heads_chart, matrices_of_any, moment_chart, weights_choice, type Moment, type WeightsChoice } from "./charts";
import { chosen_row, figures, histogram_chart, image_chart, quantiles, type Figure } from "./matrix_detail";

const kMoments: readonly Moment[] = ["std", "mean", "excess_kurtosis"];

function charts(reading: Reading): Chart[] {
  const { report, model } = reading;
  const chosen = weights_choice(reading);
  const matrices = matrices_of(report, "weights", model.name);
  if (matrices.length === 0) return [];
  const histogram = histogram_chart(reading, chosen);
  return [
    ...matrices.flatMap((matrix) => distribution_charts(reading, [model], matrix)),
    ...kMoments.map((moment) => moment_chart(reading, [model], moment)),
    heads_chart(reading, chosen, "std"),
    heads_chart(reading, chosen, "excess_kurtosis"),
    ...(histogram ? [histogram] : []),
    ...matrices.flatMap((matrix) => image_chart(reading, chosen.layer, matrix) ?? []),
  ];
}

function distributions(context: Context, { models }: WeightsChoice): HTMLElement {
  const note =
    "Rows: layers. Color: density of weights. Ticks: mean ± 1 standard deviation. All charts share one range, which excludes the " +
    "tails.";
  const with_histograms = models.some((model) => rows_of(context.report, "weights", model.name).some((each) => each.histogram));
  if (!with_histograms) return section("Distributions", null, absent_analysis(context, "histograms of weights", "weights", models));
  const rows = matrices_of_any(context.report, models).map((matrix) => {
    const frames = distribution_charts(context, models, matrix).map((chart) => chart_frame(chart, context.theme));
    return models.map(
      (model) =>
        (matrices_of(context.report, "weights", model.name).includes(matrix) && frames.shift()) ||
        h("p", { class: "note" }, `${model.name} has no `, set_words(matrix_words(matrix)), "."),
    );
  });
  return section(
    "Distributions",
    note,
    ...(models.length > 1 ? rows.map((frames) => uniform_row(context, 300, ...frames)) : [uniform_row(context, 300, ...rows.flat())]),
  );
}

function closer(context: Context, chosen: WeightsChoice): HTMLElement {
  const { report, model, theme } = context;
  const matrices = matrices_of(report, "weights", model.name);
  const on_choose = (place: { row: number; column: number }) =>
    context.go({ l: place.row, head: place.column === 0 ? null : place.column - 1, matrix: chosen.matrix });
  const found = chosen_row(context, chosen);
  const histogram = histogram_chart(context, chosen);
  const list = (all: readonly Figure[]) =>
    h(
      "dl",
      { class: "facts" },
      all.flatMap(({ name, value }) => [h("dt", {}, name), h("dd", {}, format_number(value, Number.isInteger(value) ? "," : "tick"))]),
    );
  return section(
    "One layer or head",
    null,
    controls(
      choice(
        "matrix",
        matrices.map((matrix) => ({ value: matrix, label: matrix_words(matrix) })),
        chosen.matrix,
        (matrix) => context.go({ matrix, head: null }),
      ),
      choice(
        "vertical axis",
        [
          { value: "linear", label: "linear" },
          { value: "log", label: "log y" },
        ],
        chosen.log_y ? "log" : "linear",
        (y) => context.go({ y }),
      ),
    ),
    row(
      340,
      row(
        460,
        ...(["std", "excess_kurtosis"] as const).map((moment) => chart_frame(heads_chart(context, chosen, moment), theme, { on_choose })),
      ),
      h(
        "div",
        {},
        histogram
          ? chart_frame(histogram, theme)
          : found
            ? absent_analysis(context, "this histogram", "weights")
            : h("p", { class: "absent" }, "Not in this report: this matrix in this layer."),
        found ? row(250, list(figures(found)), list(quantiles(found))) : null,
      ),
    ),
  );
}

function images(context: Context, { layer }: WeightsChoice): HTMLElement {
  const { report, model, theme } = context;
  const matrices = matrices_of(report, "weights", model.name);
  const found = matrices.flatMap((matrix) => image_chart(context, layer, matrix) ?? []);
  const missing = matrices.filter(
    (matrix) =>
      skipped_reason(report, "weights", { model: model.name, layer, matrix }) === undefined &&
      !report.file.matrices.some((each) => each.model === model.name && each.layer === layer && each.matrix === matrix),
  );
  const select = h(
    "select",
    { "aria-label": "layer", onchange: (event: Event) => context.go({ l: (event.target as HTMLSelectElement).value }) },
    Array.from({ length: model.layers }, (_, each) => h("option", { value: each, selected: each === layer }, `layer ${each}`)),
  );
  return section(
    "Matrices as images",
    "Rows: outputs; columns: inputs.",
    controls(select),
    uniform_row(context, 250, ...found.map((chart) => chart_frame(chart, theme))),
    missing.length > 0
      ? absent(
          `image of ${missing.map((matrix) => plain(matrix_words(matrix))).join(", ")} in layer ${layer}`,
          `attnscope matrix MODEL --layer ${layer} --matrix ${missing[0]} --out ${missing[0]}-${layer}.npy`,
        )
      : null,
  );
}

function draw(context: Context): HTMLElement {
  const { report, model } = context;
  const chosen = weights_choice(context);
  const several = report.file.models.length > 1;
  const head = h(
    "div",
    { class: "view-head" },
    h("h1", { class: "view" }, "Weights"),
    several
      ? choice(
          "models",
          [
            { value: "one", label: "this model" },
            { value: "all", label: "all models side by side" },
          ],
          chosen.models.length > 1 ? "all" : "one",
          (models) => context.go({ models }),
        )
      : null,
  );
  if (!chosen.models.some((each) => rows_of(report, "weights", each.name).length > 0))
    return h(
      "div",
      {},
      head,
      skipped_lines(context, "weights"),
      absent_analysis(context, "distribution of weights", "weights", chosen.models),
    );
  const moments = kMoments.map((moment) => chart_frame(moment_chart(context, chosen.models, moment), context.theme));
  return h(
    "div",
    {},
    head,
    skipped_lines(context, "weights"),
    distributions(context, chosen),
    section("By layer", null, ...(chosen.models.length > 1 ? moments : [uniform_row(context, 300, ...moments)])),
    rows_of(report, "weights", model.name).length > 0
      ? closer(context, chosen)
      : absent_analysis(context, `weights of ${model.name}`, "weights"),
    images(context, chosen),
  );
}

export const weights_view: View = { id: "weights", title: "Weights", charts, draw };
