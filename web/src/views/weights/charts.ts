// Charts of weight distributions and their moments by layer.
import { counted_axis, type Axis } from "../../chart/axis";
import type { Series } from "../../chart/chart_fields";
import type { HeatmapChart } from "../../chart/heatmap";
import type { LayerDensitiesChart } from "../../chart/layer_densities";
import type { LinesChart } from "../../chart/lines";
import { matrix_words, type Words } from "../../chart/rich_text";
import { matrices_of, row_at, rows_of, skipped_reason, type Report } from "../../data/report";
import type { Matrix, Model, WeightsRow } from "../../data/report_file";
import { common_range, densest, layer_density_rows, note_of, outside_words } from "../../shaping/distributions";
import type { Reading } from "../../shaping/reading";
import { choice_param, index_param } from "../../shaping/state";

export interface WeightsChoice {
  models: Model[]; // shown side by side
  matrix: Matrix; // matrix shown in detail
  layer: number;
  head: number | null; // a KV head for k and v; null: the whole matrix
  log_y: boolean; // logarithmic histogram
}

export function weights_choice({ report, state, model }: Reading): WeightsChoice {
  const matrices = matrices_of(report, "weights", model.name);
  const matrix = matrices.find((each) => each === state.params.matrix) ?? matrices[0] ?? "q";
  const layer = index_param(state, "l", model.layers) ?? whole_rows(report, model, matrix)[0]?.layer ?? 0;
  const head = index_param(state, "head") ?? null;
  return {
    models: choice_param(state, "models", ["one", "all"]) === "all" ? report.file.models : [model],
    matrix,
    layer,
    head: head !== null && row_at(report, "weights", { model: model.name, layer, matrix, head }) ? head : null,
    log_y: choice_param(state, "y", ["linear", "log"]) === "log",
  };
}

export const whole_rows = (report: Report, model: Model, matrix?: Matrix): WeightsRow[] =>
  rows_of(report, "weights", model.name)
    .filter((row) => row.head === null && (matrix === undefined || row.matrix === matrix))
    .sort((a, b) => a.layer - b.layer);

/** Matrices that any of the models has. */
export function matrices_of_any(report: Report, models: readonly Model[]): Matrix[] {
  const longest = models.map((model) => matrices_of(report, "weights", model.name));
  const all = new Set(longest.flat());
  return (["q", "k", "v", "o", "gate", "up", "down", "router", "shared_gate", "shared_up", "shared_down"] as const).filter((matrix) =>
    all.has(matrix),
  );
}

/** Distribution of a matrix's weights by layer, one chart per model, all with the same range and scale. */
export function distribution_charts({ report }: Reading, models: readonly Model[], matrix: Matrix): LayerDensitiesChart[] {
  const with_it = models.filter((model) => whole_rows(report, model, matrix).length > 0);
  const domain = common_range(
    report,
    models.flatMap((model) =>
      matrices_of(report, "weights", model.name).flatMap((each) => whole_rows(report, model, each).flatMap((row) => row.histogram ?? [])),
    ),
  );
  const pictures = with_it.map((model) => ({
    model,
    ...layer_density_rows(
      report,
      model.layers,
      (layer) => row_at(report, "weights", { model: model.name, layer, matrix }),
      (layer) => skipped_reason(report, "weights", { model: model.name, layer, matrix }),
    ),
  }));
  const most = densest(pictures);
  return pictures.map(({ model, edges, rows }, index) => ({
    ...note_of(
      outside_words(
        report,
        whole_rows(report, model, matrix).flatMap((row) => row.histogram ?? []),
        "weights",
      ),
    ),
    kind: "laminar",
    name: `weights-distribution-${matrix}${models.length > 1 ? `-${index}` : ""}`,
    title: models.length > 1 ? [...[matrix_words(matrix)].flat(), ` of ${model.name}`] : [matrix_words(matrix)].flat(),
    x: { title: "weight", scale: "linear", domain },
    edges,
    rows,
    row_title: "layer",
    scale: { kind: "sequential", domain: [0, most], transform: "sqrt", format: ".2~r" },
  }));
}

export type Moment = "std" | "mean" | "excess_kurtosis";

interface MomentWords {
  title: string;
  note: string;
  axis(values: readonly number[], deviations: readonly number[]): Axis;
}

const kMoments: Readonly<Record<Moment, MomentWords>> = {
  std: {
    title: "Standard deviation",
    note: "Standard deviation of the weights by layer.",
    axis: (values) => ({ title: "standard deviation", scale: "linear", domain: [0, 1.05 * Math.max(1e-12, ...values)] }),
  },
  mean: {
    title: "Mean",
    note: "Mean of the weights by layer. The axis spans at least 5% of the largest standard deviation.",
    axis(values, deviations) {
      const end = Math.max(1e-12, 0.05 * Math.max(0, ...deviations), ...values.map((value) => 1.1 * Math.abs(value)));
      return { title: "mean", scale: "linear", domain: [-end, end] };
    },
  },
  excess_kurtosis: {
    title: "Excess kurtosis",
    note: "Dashed: 0, Gaussian tails. Large values: a few outlier weights. Axis logarithmic beyond ±1.",
    axis: (values) => ({ title: "excess kurtosis", scale: "symlog", domain: [-2, Math.max(10, ...values.map((value) => 1.1 * value))] }),
  },
};

/** A moment of each matrix by layer, one panel per model. */
export function moment_chart({ report }: Reading, models: readonly Model[], moment: Moment): LinesChart {
  const words = kMoments[moment];
  const matrices = matrices_of_any(report, models);
  const rows = models.flatMap((model) => whole_rows(report, model));
  const values = rows.flatMap((row) => row[moment] ?? []);
  const series: Series[] = matrices.map((matrix) => ({ key: matrix, label: matrix_words(matrix), color: { role: matrix } }));
  const most_layers = Math.max(1, ...models.map((model) => model.layers));
  return {
    kind: "lines",
    name: `weights-${moment.replace("_", "-")}`,
    title: words.title,
    note: words.note,
    series,
    end_labels: true,
    x: counted_axis("layer", most_layers),
    y: words.axis(
      values,
      rows.map((row) => row.std),
    ),
    points: most_layers <= 16,
    panel_height: 250,
    ...(moment === "std" ? {} : { rule: 0 }),
    panels: models.map((model) => ({
      ...(models.length > 1 ? { title: model.name } : {}),
      lines: matrices
        .map((matrix) => {
          const of_matrix = whole_rows(report, model, matrix);
          return { series: matrix, x: of_matrix.map((row) => row.layer), y: of_matrix.map((row) => row[moment]) };
        })
        .filter((line) => line.x.length > 0),
    })),
  };
}

const kHeadScales = {
  std: { title: "Standard deviation", kind: "sequential", transform: "linear", format: ".2~r" },
  excess_kurtosis: { title: "Excess kurtosis", kind: "diverging", transform: "symlog", format: "+.2~r" },
} as const;

/** Format of cells: enough decimals to show the largest value with three digits. */
const cell_format = (moment: "std" | "excess_kurtosis", largest: number): string =>
  moment === "std" ? `.${Math.max(0, 2 - Math.floor(Math.log10(largest)))}f` : largest >= 100 ? "+,.0f" : largest >= 10 ? "+.1f" : "score";

/** A moment of a matrix in every layer: whole matrix, then each head. */
export function heads_chart({ report, model }: Reading, chosen: WeightsChoice, moment: "std" | "excess_kurtosis"): HeatmapChart {
  const { matrix } = chosen;
  const rows = rows_of(report, "weights", model.name).filter((row) => row.matrix === matrix);
  const heads = 1 + Math.max(-1, ...rows.map((row) => row.head ?? -1));
  const { title, ...scale } = kHeadScales[moment];
  const largest = Math.max(1e-12, ...rows.map((row) => Math.abs(row[moment] ?? 0)));
  const end = moment === "std" ? largest : Math.max(1, largest);
  const columns: (number | null)[] = [null, ...Array.from({ length: heads }, (_, head) => head)];
  return {
    kind: "heatmap",
    name: `weights-heads-${moment.replace("_", "-")}-${matrix}`,
    title: [`${title} of `, ...matrix_words_of(matrix)],
    note:
      heads > 0
        ? "Rows: layers; columns: whole matrix, then its heads. Select a cell to see its histogram."
        : "Rows: layers. Select a cell to see its histogram.",
    rows: { title: "layer", labels: Array.from({ length: model.layers }, (_, layer) => String(layer)) },
    columns: {
      title: matrix === "k" || matrix === "v" ? "KV head" : "head",
      labels: columns.map((head) => (head === null ? "all" : String(head))),
    },
    cells: Array.from({ length: model.layers }, (_, layer) =>
      columns.map((head) => {
        const row = row_at(report, "weights", { model: model.name, layer, matrix, head });
        const reason = skipped_reason(report, "weights", { model: model.name, layer, matrix });
        return row ? row[moment] : reason === undefined ? "missing" : { skipped: reason };
      }),
    ),
    scale: { ...scale, domain: [moment === "std" ? 0 : -end, end] },
    format: cell_format(moment, largest),
    chosen: { row: chosen.layer, column: chosen.head === null ? 0 : chosen.head + 1 },
  };
}

export const matrix_words_of = (matrix: Matrix): readonly Exclude<Words, string>[number][] => [matrix_words(matrix)].flat();
