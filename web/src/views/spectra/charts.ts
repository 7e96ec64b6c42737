// Charts of the singular values of all matrices.
import type { Axis } from "../../chart/axis";
import type { Series } from "../../chart/chart_fields";
import type { Line, LinesChart, Panel } from "../../chart/lines";
import { matrix_words, type Words } from "../../chart/rich_text";
import { largest_number, number_at } from "../../data/numbers";
import { matrices_of, row_at, skipped_reason, thinned_indices } from "../../data/report";
import type { Matrix, Model } from "../../data/report_file";
import { chosen_layers } from "../../shaping/layers";
import type { Reading } from "../../shaping/reading";
import { random_quantity, kQuantities, spectrum_quantity, type Quantity } from "../../shaping/spectrum_quantity";
import { choice_param, index_param } from "../../shaping/state";

export interface SpectraChoice {
  quantity: Quantity;
  by: "layer" | "matrix"; // content of a panel
  log_x: boolean;
  log_y: boolean;
  layers: readonly number[];
  head: number | null; // a query head and its KV head; null: whole layers
}

export function spectra_choice(reading: Pick<Reading, "report" | "state" | "model">): SpectraChoice {
  const { state, model } = reading;
  const quantity = choice_param(state, "show", kQuantities);
  return {
    quantity,
    by: choice_param(state, "by", ["layer", "matrix"]),
    // Relative to random, the left end is the interesting part; a logarithmic axis enlarges it.
    log_x: choice_param(state, "x", quantity === "null" ? ["log", "linear"] : ["linear", "log"]) === "log",
    log_y: choice_param(state, "y", ["log", "linear"]) === "log",
    layers: chosen_layers(reading, "spectrum"),
    head: index_param(state, "head", model.heads) ?? null,
  };
}

/** The index of a query head, or of its KV head, in a matrix's rows. */
export const head_of = (model: Model, matrix: Matrix, head: number): number =>
  matrix === "k" || matrix === "v" || matrix === "kv" ? Math.floor((head * model.kv_heads) / model.heads) : head;

export function thinned(series: string, values: ArrayLike<number>): Line {
  const kept = thinned_indices(values.length);
  return { series, x: kept.map((index) => index + 1), y: kept.map((index) => number_at(values, index)) };
}

const kAxisTitles: Readonly<Record<Quantity, string>> = {
  values: "singular value",
  null: "relative to random",
  energy: "fraction of the energy",
};

/** Axes for the visible lines of the panels. */
export function spectra_axes(choice: Pick<SpectraChoice, "quantity" | "log_x" | "log_y">, panels: readonly Panel[]): { x: Axis; y: Axis } {
  const lines = panels.flatMap((panel) => panel.lines);
  const longest = Math.max(2, ...lines.map((line) => Number(line.x[line.x.length - 1] ?? 1)));
  const largest = Math.max(1e-12, ...lines.map((line) => largest_number(line.y) ?? 0));
  const x: Axis = {
    title: "index",
    scale: choice.log_x ? "log" : "linear",
    domain: [choice.log_x ? 1 : 0, longest],
    format: ",.0f",
    integers: true,
  };
  const title = kAxisTitles[choice.quantity];
  if (choice.quantity === "energy") return { x, y: { title, scale: "linear", domain: [0, 1], format: "percent" } };
  if (choice.quantity === "null") {
    const top = Math.max(2, largest * 1.1);
    return {
      x,
      y: choice.log_y ? { title, scale: "log", domain: [Math.min(0.3, 1 / top), top] } : { title, scale: "linear", domain: [0, top] },
    };
  }
  // The last singular values of square matrices are near 0 and would take up most of a logarithmic axis.
  return { x, y: { title, scale: choice.log_y ? "log" : "linear", domain: [choice.log_y ? largest / 300 : 0, largest * 1.04] } };
}

export const kTitles: Readonly<Record<Quantity, string>> = {
  values: "Singular values",
  null: "Spectra relative to random",
  energy: "Cumulative energy",
};
export const kNotes: Readonly<Record<Quantity, string>> = {
  values: "Dashed: random matrix. A line that falls faster has a lower energy rank than a random matrix.",
  null:
    "Each singular value divided by that of a Gaussian matrix with the same shape and energy. Flat at 1: random. Steep left end: " +
    "structure.",
  energy: "Fraction of the energy in the first singular values. Above the dashed line: lower energy rank than a random matrix.",
};

/** Matrices shown by default. */
const kProjections: readonly Matrix[] = ["q", "k", "v", "o"];

/** Series hidden at first in panels by layer: ten lines are too many, and products have other units. */
export function hidden_at_first(matrices: readonly Matrix[]): Matrix[] {
  return matrices.some((matrix) => kProjections.includes(matrix)) ? matrices.filter((matrix) => !kProjections.includes(matrix)) : [];
}

/** Spectra of a model in panels by layer (one line per matrix) or by matrix (one line per layer). */
export function spectra_chart(reading: Reading, choice: SpectraChoice): LinesChart {
  const { report, model } = reading;
  const place = (layer: number, matrix: Matrix) => ({
    model: model.name,
    layer,
    matrix,
    head: choice.head === null ? null : head_of(model, matrix, choice.head),
  });
  const row_of = (layer: number, matrix: Matrix) => row_at(report, "spectrum", place(layer, matrix));
  const line_of = (layer: number, matrix: Matrix, series: string): Line[] => {
    const row = row_of(layer, matrix);
    const values = row && spectrum_quantity(report, row, choice.quantity);
    return values ? [thinned(series, values)] : [];
  };
  const baseline_line = (layer: number, matrix: Matrix | undefined): Line[] => {
    const row = matrix && row_of(layer, matrix);
    const values = row && random_quantity(report, row, choice.quantity);
    return values ? [thinned("null", values)] : [];
  };
  const why_empty = (layer: number, matrix: Matrix): string =>
    skipped_reason(report, "spectrum", place(layer, matrix)) === undefined ? "not in this report" : "skipped";

  const matrices = matrices_of(report, "spectrum", model.name).filter(
    (matrix) => choice.head === null || choice.layers.some((layer) => row_of(layer, matrix)),
  );
  const by_layer = choice.by === "layer";
  // Panels by layer show one baseline, that of the first square projection, to avoid too many dashed lines.
  const square = matrices.find((matrix) => matrix === "q" || matrix === "o") ?? matrices[0];
  const panel = (title: Words, lines: Line[], nulls: Line[], why: string): Panel =>
    lines.length > 0 ? { title, lines: [...nulls, ...lines] } : { title, lines: [], empty: why };
  const first = choice.layers[0] ?? 0;
  const panels = by_layer
    ? choice.layers.map((layer) =>
        panel(
          `Layer ${layer}`,
          matrices.flatMap((matrix) => line_of(layer, matrix, matrix)),
          baseline_line(layer, square),
          why_empty(layer, square ?? "q"),
        ),
      )
    : matrices.map((matrix) =>
        panel(
          matrix_words(matrix),
          choice.layers.flatMap((layer) => line_of(layer, matrix, String(layer))),
          baseline_line(first, matrix),
          why_empty(first, matrix),
        ),
      );
  const series: Series[] = by_layer
    ? matrices.map((matrix) => ({ key: matrix, label: matrix_words(matrix), color: { role: matrix } }))
    : choice.layers.map((layer) => ({ key: String(layer), label: `layer ${layer}`, color: { layer, of: model.layers } }));
  if (choice.quantity !== "null")
    series.push({
      key: "null",
      label: by_layer
        ? ["random, shape of ", ...[matrix_words(square ?? "q")].flat()]
        : choice.quantity === "values"
          ? `random, layer ${first}`
          : "random",
      color: "null",
    });
  return {
    kind: "lines",
    name: `spectra-${choice.quantity}-by-${choice.by}${choice.head === null ? "" : `-head-${choice.head}`}`,
    title: choice.head === null ? kTitles[choice.quantity] : `${kTitles[choice.quantity]} of head ${choice.head}`,
    note: kNotes[choice.quantity],
    series,
    panels,
    ...spectra_axes(choice, panels),
    ...(choice.quantity === "null" ? { rule: 1 } : {}),
  };
}
