// Charts of the change from a base model.
import { counted_axis } from "../../chart/axis";
import type { ColorScale, Series } from "../../chart/chart_fields";
import type { Cell, HeatmapChart } from "../../chart/heatmap";
import type { LinesChart } from "../../chart/lines";
import { matrix_words } from "../../chart/rich_text";
import { skipped_reason } from "../../data/report";
import type { DiffRow, Matrix } from "../../data/report_file";
import { diff_rows } from "../../shaping/adapter_size";
import { numbers_in } from "../../shaping/head_grid";
import type { Reading } from "../../shaping/reading";
import { threshold_words } from "../../shaping/shared_words";

const matrices_in = (rows: readonly DiffRow[]): Matrix[] => [...new Set(rows.map((row) => row.matrix))];

interface Grid {
  name: string;
  title: string;
  note: string;
  value(row: DiffRow): number | null;
  scale(values: readonly number[]): ColorScale;
  format: string;
}

function grid_of(reading: Reading, { name, title, note, value, scale, format }: Grid): HeatmapChart | undefined {
  const { report, model } = reading;
  const rows = diff_rows(reading);
  const layers = [...new Set(rows.map((row) => row.layer))].sort((a, b) => a - b);
  const matrices = matrices_in(rows);
  const cells = layers.map((layer) =>
    matrices.map((matrix): Cell => {
      const row = rows.find((each) => each.layer === layer && each.matrix === matrix);
      if (row) return value(row);
      const skipped = skipped_reason(report, "diff", { model: model.name, layer, matrix });
      return skipped === undefined ? "missing" : { skipped };
    }),
  );
  const known = numbers_in(cells);
  if (known.length === 0) return undefined;
  return {
    kind: "heatmap",
    name,
    title,
    note,
    rows: { title: "layer", labels: layers.map(String) },
    columns: { title: "matrix", labels: matrices.map((matrix) => matrix_words(matrix)) },
    cells,
    scale: scale(known),
    format,
  };
}

/** Relative change: Frobenius norm of the change over that of the base matrix. */
export const change_sizes = (reading: Reading): HeatmapChart | undefined =>
  grid_of(reading, {
    name: "diff-size",
    title: "Relative change",
    note: "Norm of the change divided by the norm of the base matrix.",
    value: (row) => row.relative_change,
    scale: (values) => ({ kind: "sequential", domain: [0, Math.max(1e-9, ...values)], format: ".2~r" }),
    format: ".3f",
  });

const rank_share = (row: DiffRow, ranks: Readonly<Record<string, number>>, threshold: number): number | null => {
  const rank = ranks[String(threshold)];
  return rank === undefined ? null : rank / row.max_possible_rank;
};

export function change_ranks(reading: Reading): HeatmapChart | undefined {
  const shares = diff_rows(reading).flatMap((row) => rank_share(row, row.random_energy_rank, reading.threshold) ?? []);
  const random = shares.reduce((sum, share) => sum + share, 0) / Math.max(1, shares.length);
  return grid_of(reading, {
    name: "diff-rank",
    title: "Energy rank of the change",
    note:
      `Number of singular values for ${threshold_words(reading.threshold)} of the energy, relative to the maximum possible rank. Random ` +
      `change: ${Math.round(100 * random)}% on average.`,
    value: (row) => rank_share(row, row.energy_rank, reading.threshold),
    scale: () => ({ kind: "sequential", domain: [0, 1], format: "percent" }),
    format: "percent",
  });
}

export const base_ranks = (reading: Reading): HeatmapChart | undefined =>
  grid_of(reading, {
    name: "diff-base-rank",
    title: "Energy rank of the base matrix",
    note: "The same measure for the base model's matrix.",
    value: (row) => rank_share(row, row.weight_energy_rank, reading.threshold),
    scale: () => ({ kind: "sequential", domain: [0, 1], format: "percent" }),
    format: "percent",
  });

export const output_overlap = (reading: Reading): HeatmapChart | undefined =>
  grid_of(reading, {
    name: "diff-outputs",
    title: "Output overlap of change and base",
    note: "Mean squared cosine between the output subspaces of the change and of the base, minus that of a random subspace.",
    value: (row) => (row.output_space ? row.output_space.overlap - row.output_space.random_overlap : null),
    scale: () => ({ kind: "diverging", domain: [-1, 1], format: "+.1f" }),
    format: "score",
  });

/** Energy thresholds with ranks, ascending. */
export const adapter_thresholds = (rows: readonly DiffRow[]): string[] =>
  Object.keys(rows[0]?.energy_rank ?? {}).sort((a, b) => Number(a) - Number(b));

/** Cumulative energy of the change and of the base by rank, mean over layers; one panel per matrix. */
export function spectra_of_change(reading: Reading): LinesChart | undefined {
  const rows = diff_rows(reading);
  const thresholds = adapter_thresholds(rows);
  if (thresholds.length < 2) return undefined;
  const series: Series[] = [
    { key: "change", label: "change", color: "accent" },
    { key: "base", label: "base", color: "ink", dash: "7 2" },
    { key: "null", label: "random", color: "null", dash: "4 3" },
  ];
  const panels = matrices_in(rows).map((matrix) => {
    const own = rows.filter((row) => row.matrix === matrix);
    const mean = (ranks: (row: DiffRow) => Readonly<Record<string, number>>) =>
      thresholds.map((each) => own.reduce((sum, row) => sum + (ranks(row)[each] ?? 0) / row.max_possible_rank, 0) / own.length);
    return {
      title: matrix_words(matrix),
      lines: [
        { series: "change", x: mean((row) => row.energy_rank), y: thresholds.map(Number) },
        { series: "base", x: mean((row) => row.weight_energy_rank), y: thresholds.map(Number) },
        { series: "null", x: mean((row) => row.random_energy_rank), y: thresholds.map(Number) },
      ],
    };
  });
  return {
    kind: "lines",
    name: "diff-spectra",
    title: "Energy by rank",
    note:
      "Fraction of singular values needed for each fraction of the energy, mean over layers. Left of the base: lower rank " +
      "than the base.",
    x: { title: "fraction of singular values", scale: "linear", domain: [0, 1], format: "percent" },
    y: { title: "fraction of the energy", scale: "linear", domain: [0.5, 1], format: "percent" },
    series,
    points: true,
    panels,
  };
}

/** Relative change by layer, one line per matrix. */
export function change_by_layer(reading: Reading): LinesChart | undefined {
  const rows = diff_rows(reading);
  if (rows.length === 0) return undefined;
  const matrices = matrices_in(rows);
  const sizes = rows.map((row) => row.relative_change ?? 0);
  return {
    kind: "lines",
    name: "diff-layers",
    title: "Relative change by layer",
    note: "Norm of the change divided by the norm of the base matrix.",
    x: counted_axis("layer", reading.model.layers),
    y: { title: "relative change", scale: "linear", domain: [0, Math.max(1e-9, ...sizes) * 1.1] },
    series: matrices.map((matrix): Series => ({ key: matrix, label: matrix_words(matrix), color: { role: matrix } })),
    points: reading.model.layers <= 16,
    panels: [
      {
        lines: matrices.map((matrix) => {
          const own = rows.filter((row) => row.matrix === matrix).sort((a, b) => a.layer - b.layer);
          return { series: matrix, x: own.map((row) => row.layer), y: own.map((row) => row.relative_change) };
        }),
      },
    ],
  };
}

export const difference_charts = (reading: Reading) =>
  [
    change_sizes(reading),
    change_by_layer(reading),
    change_ranks(reading),
    base_ranks(reading),
    spectra_of_change(reading),
    output_overlap(reading),
  ].flatMap((chart) => chart ?? []);
