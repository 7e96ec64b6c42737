// Charts of cosines between weight vectors, and of subspace overlaps between heads.
import { counted_axis } from "../../chart/axis";
import type { Series } from "../../chart/chart_fields";
import type { HeatmapChart } from "../../chart/heatmap";
import type { ImageChart } from "../../chart/image";
import type { LayerDensitiesChart } from "../../chart/layer_densities";
import type { LinesChart } from "../../chart/lines";
import { format_number } from "../../chart/number_format";
import { head_name, matrix_words } from "../../chart/rich_text";
import { image_values, overlap_matrix } from "../../data/matrix";
import { matrices_of, row_at, rows_of, skipped_reason, type Report } from "../../data/report";
import type { Matrix, Model, HeadOverlapRow, SimilarityRow } from "../../data/report_file";
import { common_range, densest, layer_density_rows, note_of, outside_words } from "../../shaping/distributions";
import { cosine_deviation, random_overlap } from "../../shaping/random_baselines";
import type { Reading } from "../../shaping/reading";

export type Scope = SimilarityRow["scope"];

const kScopes: Readonly<Record<Scope, string>> = { within_head: "within a head", across_head: "across heads", all: "all pairs" };

const scope_row = ({ report, model }: Reading, layer: number, matrix: Matrix, scope: Scope): SimilarityRow | undefined =>
  rows_of(report, "similarity", model.name).find((row) => row.layer === layer && row.matrix === matrix && row.scope === scope);

/** Distributions of cosines by layer, one chart per matrix, within or across heads. All share one range and one scale. */
export function cosine_charts(reading: Reading, scope: "within_head" | "across_head"): LayerDensitiesChart[] {
  const { report, model } = reading;
  const rows = rows_of(report, "similarity", model.name);
  const domain = common_range(
    report,
    rows.flatMap((row) => (row.scope !== "all" && row.histogram) || []),
  );
  const picture = (matrix: Matrix, of: Scope) =>
    layer_density_rows(
      report,
      model.layers,
      (layer) => scope_row(reading, layer, matrix, of),
      (layer) => skipped_reason(report, "similarity", { model: model.name, layer, matrix }),
    );
  const matrices = matrices_of(report, "similarity", model.name);
  const most = densest(matrices.flatMap((matrix) => [picture(matrix, "within_head"), picture(matrix, "across_head")]));
  return matrices.map((matrix) => ({
    ...note_of(
      outside_words(
        report,
        rows.flatMap((row) => (row.matrix === matrix && row.scope === scope && row.histogram) || []),
        "pairs",
      ),
    ),
    kind: "laminar",
    name: `similarity-${scope.replace("_", "-")}-${matrix}`,
    title: [...[matrix_words(matrix)].flat(), `, ${kScopes[scope]}`],
    x: { title: "cosine", scale: "linear", domain },
    ...picture(matrix, scope),
    row_title: "layer",
    null_std: cosine_deviation(model.hidden_size),
    scale: { kind: "sequential", domain: [0, most], transform: "sqrt", format: ".2~r" },
  }));
}

/** Mean or standard deviation of the cosines by layer, one panel per matrix, with the random baseline. */
export function cosine_moment_chart(reading: Reading, moment: "mean" | "std"): LinesChart {
  const { report, model } = reading;
  const matrices = matrices_of(report, "similarity", model.name);
  const rows = rows_of(report, "similarity", model.name);
  const null_std = cosine_deviation(model.hidden_size);
  const largest = Math.max(null_std, ...rows.map((row) => Math.abs(row[moment] ?? 0)));
  const series: (Series & { key: Scope })[] = [
    { key: "within_head", label: kScopes.within_head, color: "accent" },
    { key: "across_head", label: kScopes.across_head, color: "ink", dash: "7 2" },
  ];
  return {
    kind: "lines",
    name: `similarity-${moment}`,
    title: moment === "mean" ? "Mean cosine" : "Standard deviation of cosines",
    note:
      moment === "mean"
        ? "Dashed: 0, no common direction. The axis spans at least 1 standard deviation of random directions."
        : "Dashed: random directions. Higher: more vectors are parallel or antiparallel.",
    x: counted_axis("layer", model.layers),
    y: {
      title: moment === "mean" ? "mean" : "standard deviation",
      scale: "linear",
      domain: moment === "mean" ? [-1.05 * largest, 1.05 * largest] : [0, 1.05 * largest],
    },
    rule: moment === "mean" ? 0 : null_std,
    series,
    points: model.layers <= 16,
    panels: matrices.map((matrix) => ({
      title: matrix_words(matrix),
      lines: series.map(({ key }) => {
        const of_scope = rows.filter((row) => row.matrix === matrix && row.scope === key).sort((a, b) => a.layer - b.layer);
        return { series: key, x: of_scope.map((row) => row.layer), y: of_scope.map((row) => row[moment]) };
      }),
    })),
  };
}

/** Highest expected overlap of independent random heads with these ranks. */
export function chance_overlap(model: Model, rows: readonly HeadOverlapRow[]): number {
  const ranks = rows.flatMap((row) => row.ranks);
  return Math.min(1, random_overlap(ranks, model.hidden_size));
}

export interface Pair {
  heads: [number, number];
  overlap: number;
}

/** The pair of heads with the highest overlap. Undefined if there is no pair. */
export function closest_pair(matrix: readonly (readonly (number | null)[])[]): Pair | undefined {
  let found: Pair | undefined;
  matrix.forEach((row, first) =>
    row.forEach((overlap, second) => {
      if (second > first && overlap !== null && overlap > (found?.overlap ?? -1)) found = { heads: [first, second], overlap };
    }),
  );
  return found;
}

const overlap_rows = (report: Report, model: Model, matrix: Matrix): HeadOverlapRow[] =>
  rows_of(report, "overlap", model.name)
    .filter((row) => row.matrix === matrix)
    .sort((a, b) => a.layer - b.layer);

/** Heads × heads of one layer. All layers and matrices of a model share one scale, from random to 1. */
export function overlap_chart({ report, model }: Reading, matrix: Matrix, layer: number): HeatmapChart | undefined {
  const row = row_at(report, "overlap", { model: model.name, layer, matrix });
  if (!row) return undefined;
  const cells = overlap_matrix(report, row);
  const closest = closest_pair(cells);
  const labels = cells.map((_, head) => String(head));
  const of_queries = cells.length === model.heads;
  const pair_words = ({ heads }: Pair) =>
    of_queries ? heads.map((head) => head_name({ layer, head })).join(" and ") : `KV heads ${heads.join(" and ")}`;
  return {
    kind: "heatmap",
    name: `similarity-overlap-${matrix}-${layer}`,
    title: [...[matrix_words(matrix)].flat(), `, layer ${layer}`],
    ...(closest ? { note: `Highest: ${pair_words(closest)}, ${format_number(closest.overlap, ".2f")}.` } : {}),
    rows: { title: of_queries ? "head" : "KV head", labels },
    columns: { title: of_queries ? "head" : "KV head", labels },
    cells,
    square: true,
    format: "share",
    scale: {
      kind: "sequential",
      domain: [Math.min(0.99, chance_overlap(model, rows_of(report, "overlap", model.name))), 1],
      format: "share",
    },
  };
}

/** Highest and mean overlap of two heads by layer, one panel per matrix. */
export function overlap_by_layer_chart({ report, model }: Reading): LinesChart {
  const matrices = matrices_of(report, "overlap", model.name);
  const chance = chance_overlap(model, rows_of(report, "overlap", model.name));
  const pairs = (row: HeadOverlapRow) =>
    overlap_matrix(report, row).flatMap((line, first) => line.slice(first + 1).filter((each): each is number => each !== null));
  const mean = (all: readonly number[]) => (all.length > 0 ? all.reduce((sum, each) => sum + each, 0) / all.length : null);
  return {
    kind: "lines",
    name: "similarity-overlap-by-layer",
    title: "Overlap of two heads",
    note: "1: one head's subspace contains the other's. Dashed: independent random heads.",
    x: counted_axis("layer", model.layers),
    y: { title: "overlap", scale: "linear", domain: [0, 1] },
    rule: chance,
    points: model.layers <= 16,
    series: [
      { key: "most", label: "closest pair", color: "accent" },
      { key: "mean", label: "mean of all pairs", color: "ink", dash: "7 2" },
    ],
    panels: matrices.map((matrix) => {
      const rows = overlap_rows(report, model, matrix);
      const x = rows.map((row) => row.layer);
      return {
        title: matrix_words(matrix),
        lines: [
          { series: "most", x, y: rows.map((row) => closest_pair(overlap_matrix(report, row))?.overlap ?? null) },
          { series: "mean", x, y: rows.map((row) => mean(pairs(row))) },
        ],
      };
    }),
  };
}

/** Cosines between all rows of one head's query matrix. Undefined if the report has no image of them. */
export function head_cosines_chart({ report, model }: Reading, layer: number, head: number): ImageChart | undefined {
  const image = report.file.cosines.find((each) => each.model === model.name && each.layer === layer && each.head === head);
  if (!image) return undefined;
  const most = 4 * cosine_deviation(model.hidden_size);
  return {
    kind: "image",
    name: "similarity-head-cosines",
    title: [...matrix_words(image.matrix), `, ${head_name({ layer, head })}`],
    note: "Cosines between rows, without the diagonal. The scale ends at 4 standard deviations of random directions.",
    values: image_values(report, image),
    rows: image.rows,
    columns: image.cols,
    shape: [image.rows, image.cols],
    scale: { kind: "diverging", domain: [-most, most], format: "score" },
  };
}
