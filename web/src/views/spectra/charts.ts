// Singular values of all matrices, shaped into charts.
import type { Axis } from "../../chart/axis";
import type { Series } from "../../chart/base";
import type { Line, LinesChart, Panel } from "../../chart/lines";
import { matrix_words } from "../../chart/words";
import { at_threshold, cumulative_energy, matrices_of, numbers, row_at, rows_of, scaled_numbers, thinned_indices, type Report } from "../../data/report";
import type { Matrix, SpectrumRow } from "../../data/report_file";
import { choice_param, list_param } from "../../page/state";
import type { Reading } from "../../page/view";

export type Quantity = "values" | "null" | "energy";

export interface SpectraChoice {
  quantity: Quantity;
  by: "layer" | "matrix"; // what a panel is
  log_x: boolean;
  log_y: boolean;
  layers: number[];
}

/** All layers of up to eight, else the first and last four. */
export function usual_layers(layers: number): number[] {
  const all = Array.from({ length: layers }, (_, layer) => layer);
  return layers <= 8 ? all : [...all.slice(0, 4), ...all.slice(-4)];
}

export function spectra_choice({ state, model }: Reading): SpectraChoice {
  const layers = list_param(state, "layers")?.map(Number).filter((layer) => Number.isInteger(layer) && layer >= 0 && layer < model.layers);
  const quantity = choice_param(state, "show", ["values", "null", "energy"]);
  return {
    quantity,
    by: choice_param(state, "by", ["layer", "matrix"]),
    // Against the null what matters is at the left end, which a logarithm opens.
    log_x: choice_param(state, "x", quantity === "null" ? ["log", "linear"] : ["linear", "log"]) === "log",
    log_y: choice_param(state, "y", ["log", "linear"]) === "log",
    layers: layers ?? usual_layers(model.layers),
  };
}

/** What a line of a spectrum shows, an element for each singular value; undefined without `--values`. */
export function spectrum_quantity(report: Report, row: SpectrumRow, quantity: Quantity): ArrayLike<number> | undefined {
  if (!row.singular_values) return undefined;
  const values = numbers(report, row.singular_values);
  if (quantity === "values") return values;
  if (quantity === "energy") return cumulative_energy(values);
  if (!row.null_singular_values) return undefined;
  const null_values = scaled_numbers(report, row.null_singular_values);
  return values.map((value, index) => (null_values[index]! > 0 ? value / null_values[index]! : NaN));
}

function thinned(series: string, values: ArrayLike<number>): Line {
  const kept = thinned_indices(values.length);
  return { series, x: kept.map((index) => index + 1), y: kept.map((index) => values[index]!) };
}

const kTitles: Readonly<Record<Quantity, string>> = { values: "singular value", null: "over the null's", energy: "share of the energy" };

function axes_of(choice: SpectraChoice, panels: readonly Panel[]): { x: Axis; y: Axis } {
  const lines = panels.flatMap((panel) => panel.lines);
  const longest = Math.max(2, ...lines.map((line) => Number(line.x[line.x.length - 1] ?? 1)));
  const largest = Math.max(1e-12, ...lines.map((line) => Math.max(...Array.from(line.y, (value) => (Number.isFinite(value) ? value! : 0)))));
  const x: Axis = { title: "index", scale: choice.log_x ? "log" : "linear", domain: [choice.log_x ? 1 : 0, longest], format: ",.0f", integers: true };
  const title = kTitles[choice.quantity];
  if (choice.quantity === "energy") return { x, y: { title, scale: "linear", domain: [0, 1], format: "percent" } };
  if (choice.quantity === "null") {
    const top = Math.max(2, largest * 1.1);
    return { x, y: { title, scale: "log", domain: [Math.min(0.3, 1 / top), top] } };
  }
  // The last values of square matrices nearly vanish and would take most of a logarithmic axis.
  return { x, y: { title, scale: choice.log_y ? "log" : "linear", domain: [choice.log_y ? largest / 300 : 0, largest * 1.04] } };
}

/** The spectra of a model in panels by layer (a line a matrix) or by matrix (a line a layer). */
export function spectra_chart({ report, model }: Reading, choice: SpectraChoice): LinesChart {
  const matrices = matrices_of(report, "spectrum", model.name);
  const line_of = (layer: number, matrix: Matrix, series: string): Line[] => {
    const row = row_at(report, "spectrum", { model: model.name, layer, matrix });
    const values = row && spectrum_quantity(report, row, choice.quantity);
    return values ? [thinned(series, values)] : [];
  };
  const null_line = (layer: number, matrix: Matrix): Line[] => {
    const row = row_at(report, "spectrum", { model: model.name, layer, matrix });
    if (!row?.null_singular_values || choice.quantity === "null") return [];
    const values = scaled_numbers(report, row.null_singular_values);
    return [thinned("null", choice.quantity === "energy" ? cumulative_energy(values) : values)];
  };
  const by_layer = choice.by === "layer";
  // By layer, one null stands for all: that of the first square projection, or each panel would be full of grey.
  const square = matrices.find((matrix) => matrix === "q" || matrix === "o") ?? matrices[0];
  const panels: Panel[] = by_layer
    ? choice.layers.map((layer) => ({
        title: `Layer ${layer}`,
        lines: [...(square ? null_line(layer, square) : []), ...matrices.flatMap((matrix) => line_of(layer, matrix, matrix))],
      }))
    : matrices.map((matrix) => ({
        title: matrix_words(matrix),
        lines: [...null_line(choice.layers[0] ?? 0, matrix), ...choice.layers.flatMap((layer) => line_of(layer, matrix, String(layer)))],
      }));
  const series: Series[] = by_layer
    ? matrices.map((matrix) => ({ key: matrix, label: matrix_words(matrix), colour: { role: matrix } }))
    : choice.layers.map((layer) => ({ key: String(layer), label: `layer ${layer}`, colour: { layer, of: model.layers } }));
  if (choice.quantity !== "null") series.push({ key: "null", label: by_layer ? ["Gaussian null of ", ...[matrix_words(square ?? "q")].flat()] : "Gaussian null", colour: "null" });
  return {
    kind: "lines", name: `spectra-${choice.quantity}-by-${choice.by}`, series, panels, ...axes_of(choice, panels),
    title: { values: "Singular values", null: "Spectra against the null", energy: "Cumulative energy" }[choice.quantity],
    note: {
      values: "A line that falls faster than the dashed one holds its energy in fewer directions than random numbers do.",
      null: "Each singular value over the one that a Gaussian matrix of the same shape and energy has at that index. Flat at 1 is random; a steep left end is structure.",
      energy: "The share of the sum of squares that the first directions hold.",
    }[choice.quantity],
    ...(choice.quantity === "null" ? { rule: 1 } : {}),
  };
}

/** Components needed at each threshold of the report, against the layer: a panel a threshold. */
export function components_chart({ report, model }: Reading): LinesChart {
  const matrices = matrices_of(report, "spectrum", model.name);
  const whole = rows_of(report, "spectrum", model.name).filter((row) => row.head === null);
  const most = Math.max(1, ...whole.map((row) => row.possible_rank));
  return {
    kind: "lines", name: "spectra-components", title: "Components needed",
    note: "How many directions hold that share of the energy, by layer.",
    x: { title: "layer", scale: "linear", domain: [0, Math.max(1, model.layers - 1)], integers: true },
    y: { title: "directions", scale: "linear", domain: [0, most], integers: true },
    series: matrices.map((matrix) => ({ key: matrix, label: matrix_words(matrix), colour: { role: matrix } })),
    end_labels: true, points: model.layers <= 16,
    panels: report.file.thresholds.map((threshold) => ({
      title: `${Number((threshold * 100).toPrecision(6))}\u202f% of the energy`,
      lines: matrices.map((matrix) => {
        const rows = whole.filter((row) => row.matrix === matrix).sort((a, b) => a.layer - b.layer);
        return { series: matrix, x: rows.map((row) => row.layer), y: rows.map((row) => at_threshold(row.energy_rank, threshold) ?? null) };
      }),
    })),
  };
}
