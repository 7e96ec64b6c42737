// Histograms of many rows as one chart: a common range, densities, one row per layer.
import type { LayerDensity } from "../chart/layer_densities";
import { format_number } from "../chart/number_format";
import { number_at } from "../data/numbers";
import { numbers, type Report } from "../data/report";
import type { Histogram } from "../data/report_file";

/** Densities: fraction of the values inside the edges, per unit of the value. */
export function densities(edges: ArrayLike<number>, counts: readonly number[]): number[] {
  const inside = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count, bin) => (inside > 0 ? count / inside / (number_at(edges, bin + 1) - number_at(edges, bin)) : 0));
}

/** Merges `factor` bins into one. The last bin may be narrower. */
export function wider_bins(edges: ArrayLike<number>, counts: readonly number[], factor: number): { edges: number[]; counts: number[] } {
  const wide = { edges: [number_at(edges, 0)], counts: [] as number[] };
  for (let bin = 0; bin < counts.length; bin += factor) {
    wide.counts.push(counts.slice(bin, bin + factor).reduce((sum, count) => sum + count, 0));
    wide.edges.push(number_at(edges, Math.min(bin + factor, counts.length)));
  }
  return wide;
}

const kLeast = 0.002; // fraction of a row's values: smaller bins are tail,
const kUsualBins = 80; // for this many bins; scaled down for finer ones

/** The symmetric range outside which every bin of every row is tail, rounded to bin edges. */
export function common_range(report: Report, histograms: readonly Histogram[]): [number, number] {
  let end = 0;
  for (const { edges, counts } of histograms) {
    const places = numbers(report, edges);
    const inside = counts.reduce((sum, count) => sum + count, 0);
    const least = kLeast * Math.min(1, kUsualBins / counts.length);
    counts.forEach((count, bin) => {
      if (count > 0 && count >= least * inside) end = Math.max(end, Math.abs(number_at(places, bin)), Math.abs(number_at(places, bin + 1)));
    });
  }
  return end > 0 ? [-end, end] : [-1, 1];
}

/** Note about values outside the edges. Undefined if they are too few to matter. */
export function outside_words(report: Report, histograms: readonly Histogram[], what: string): string | undefined {
  const shares = histograms.map(({ counts, outside }) => outside / Math.max(1, outside + counts.reduce((sum, count) => sum + count, 0)));
  const most = Math.max(0, ...shares);
  const edges = histograms[0] && numbers(report, histograms[0].edges);
  if (most < kLeast || !edges) return undefined;
  return (
    `Up to ${Number((100 * most).toPrecision(2))}% of a layer's ${what} are outside ` +
    `±${format_number(edges[edges.length - 1], "tick")}.`
  );
}

export const note_of = (note: string | undefined) => (note === undefined ? {} : { note });

export interface Distribution {
  mean: number | null;
  std: number | null;
  histogram?: Histogram | null;
}

export interface LayerDensities {
  edges: Float32Array;
  rows: LayerDensity[];
}

const kFew = 8; // mean number of values per bin of a row: fewer show mostly noise

/** Number of bins to merge, chosen for the row with the fewest values: a divisor that leaves at least 10 bins. */
function widening(histograms: readonly Histogram[]): number {
  const bins = histograms[0]?.counts.length ?? 0;
  const insides = histograms.map(({ counts }) => counts.reduce((sum, count) => sum + count, 0)).filter((inside) => inside > 0);
  const factors = Array.from({ length: Math.floor(bins / 10) }, (_, index) => index + 1).filter((factor) => bins % factor === 0);
  return factors.find((factor) => Math.min(...insides) * factor >= kFew * bins) ?? factors[factors.length - 1] ?? 1;
}

/**
 * One row per layer, in order. All histograms must have the edges of the first one; rows with other edges are not shown.
 * Bins are merged if there are few values.
 */
export function layer_density_rows(
  report: Report,
  layers: number,
  row_of: (layer: number) => Distribution | undefined,
  skipped: (layer: number) => string | undefined,
): LayerDensities {
  const all = Array.from({ length: layers }, (_, layer) => row_of(layer));
  const shared = all.find((row) => row?.histogram)?.histogram?.edges;
  const shown = all.flatMap((row) => (row?.histogram && row.histogram.edges.at === shared?.at ? [row.histogram] : []));
  const factor = widening(shown);
  const edges = shared ? numbers(report, shared) : new Float32Array(0);
  const rows = all.map((row, layer): LayerDensity => {
    const label = String(layer);
    if (!row) return { label, density: null, ...(skipped(layer) === undefined ? {} : { why: "skipped" }) };
    const { mean, std, histogram } = row;
    if (histogram?.edges.at !== shared?.at || !histogram) return { label, density: null, mean, std };
    if (mean === null) return { label, density: null, why: "no pairs" };
    const wide = wider_bins(edges, histogram.counts, factor);
    return { label, density: densities(wide.edges, wide.counts), mean, std };
  });
  return { edges: shown[0] ? Float32Array.from(wider_bins(edges, shown[0].counts, factor).edges) : edges, rows };
}

/** Highest density in several charts: the upper end of their common scale. */
export const densest = (pictures: readonly LayerDensities[]): number =>
  Math.max(1e-12, ...pictures.flatMap(({ rows }) => rows.flatMap((row) => (row.density ? Array.from(row.density) : []))));
