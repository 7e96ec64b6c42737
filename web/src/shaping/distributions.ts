// Histograms of many rows as one picture: a common range, densities, rows by layer.
import type { LayerDensity } from "../chart/layer_densities";
import { format_number } from "../chart/number_format";
import { number_at } from "../data/numbers";
import { numbers, type Report } from "../data/report";
import type { Histogram } from "../data/report_file";

/** Counts a unit of the value, as shares of those inside the edges. */
export function densities(edges: ArrayLike<number>, counts: readonly number[]): number[] {
  const inside = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count, bin) => (inside > 0 ? count / inside / (number_at(edges, bin + 1) - number_at(edges, bin)) : 0));
}

/** The same counts in bins that are `factor` times as wide; the last may be narrower. */
export function wider_bins(edges: ArrayLike<number>, counts: readonly number[], factor: number): { edges: number[]; counts: number[] } {
  const wide = { edges: [number_at(edges, 0)], counts: [] as number[] };
  for (let bin = 0; bin < counts.length; bin += factor) {
    wide.counts.push(counts.slice(bin, bin + factor).reduce((sum, count) => sum + count, 0));
    wide.edges.push(number_at(edges, Math.min(bin + factor, counts.length)));
  }
  return wide;
}

const kLeast = 0.002; // of a row's values: a bin with less is tail,
const kUsualBins = 80; // where there are so many bins; where they are finer, less

/** The range around 0 outside which every bin of every row is tail; widths of bins decide its ends. */
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

/** That some values of a row lie beyond the edges, where more do than a bin must hold to be shown; undefined where few do. */
export function outside_words(report: Report, histograms: readonly Histogram[], what: string): string | undefined {
  const shares = histograms.map(({ counts, outside }) => outside / Math.max(1, outside + counts.reduce((sum, count) => sum + count, 0)));
  const most = Math.max(0, ...shares);
  const edges = histograms[0] && numbers(report, histograms[0].edges);
  if (most < kLeast || !edges) return undefined;
  return (
    `Up to ${Number((100 * most).toPrecision(2))}\u202f% of a layer's ${what} lie beyond ` +
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

const kFew = 8; // values a bin, on average over a row: with less, a picture shows chance

/** By how much bins are widened for the row that has the fewest values: a divisor of their number that leaves ten or more. */
function widening(histograms: readonly Histogram[]): number {
  const bins = histograms[0]?.counts.length ?? 0;
  const insides = histograms.map(({ counts }) => counts.reduce((sum, count) => sum + count, 0)).filter((inside) => inside > 0);
  const factors = Array.from({ length: Math.floor(bins / 10) }, (_, index) => index + 1).filter((factor) => bins % factor === 0);
  return factors.find((factor) => Math.min(...insides) * factor >= kFew * bins) ?? factors[factors.length - 1] ?? 1;
}

/**
 * A row a layer, from the first to the last. All histograms share the first one's edges; a row with others is not shown.
 * Where values are few, bins are wider.
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

/** The strongest density that several pictures show: the end of their common scale. */
export const densest = (pictures: readonly LayerDensities[]): number =>
  Math.max(1e-12, ...pictures.flatMap(({ rows }) => rows.flatMap((row) => (row.density ? Array.from(row.density) : []))));
