// One matrix of a layer or head: histogram with a Gaussian, statistics, and an image.
import type { BarsChart } from "../../chart/histogram";
import type { ImageChart } from "../../chart/image";
import { image_of, image_values } from "../../data/matrix";
import { number_at } from "../../data/numbers";
import { numbers, row_at } from "../../data/report";
import type { Matrix, MatrixImage, WeightsRow } from "../../data/report_file";
import { densities, wider_bins } from "../../shaping/distributions";
import type { Reading } from "../../shaping/reading";
import { matrix_place_words, threshold_words } from "../../shaping/shared_words";
import type { WeightsChoice } from "./charts";

export const chosen_row = ({ report, model }: Reading, { layer, matrix, head }: WeightsChoice): WeightsRow | undefined =>
  row_at(report, "weights", { model: model.name, layer, matrix, head });

/** Number of bins to merge so that the bin width matches the Freedman–Diaconis rule. */
export function bins_as_one({ count, quantiles }: WeightsRow, bin: number): number {
  const [low, high] = [quantiles["0.25"], quantiles["0.75"]];
  if (low === undefined || high === undefined || !(bin > 0)) return 1;
  return Math.max(1, Math.floor((2 * (high - low)) / Math.cbrt(count) / bin));
}

const kSteps = 120; // points of the Gaussian curve

/** Histogram of the nonempty range, symmetric around 0. */
export function histogram_chart(reading: Reading, chosen: WeightsChoice): BarsChart | undefined {
  const row = chosen_row(reading, chosen);
  if (!row?.histogram) return undefined;
  const fine_edges = numbers(reading.report, row.histogram.edges);
  const { edges, counts } = wider_bins(
    fine_edges,
    row.histogram.counts,
    bins_as_one(row, number_at(fine_edges, 1) - number_at(fine_edges, 0)),
  );
  const heights = densities(edges, counts);
  const ends = heights.flatMap((height, bin) => (height > 0 ? [Math.abs(number_at(edges, bin)), Math.abs(number_at(edges, bin + 1))] : []));
  const end = Math.max(1e-12, ...ends);
  const gaussian = (value: number) => Math.exp(-0.5 * ((value - row.mean) / row.std) ** 2) / (row.std * Math.sqrt(2 * Math.PI));
  const fine = Array.from({ length: kSteps + 1 }, (_, index) => -end + (2 * end * index) / kSteps);
  const curve = row.std > 0 ? fine.slice(1).map((edge, index) => gaussian((edge + number_at(fine, index)) / 2)) : [];
  const most = Math.max(...heights, ...curve);
  // The lowest possible bin has one weight.
  const least = Math.min(...heights.filter((height) => height > 0), most) / 2;
  return {
    kind: "bars",
    name: `weights-histogram-${chosen.matrix}-${chosen.layer}${chosen.head === null ? "" : `-${chosen.head}`}`,
    title: matrix_place_words(chosen),
    note: "Dashed: Gaussian with the same mean and standard deviation.",
    x: { title: "weight", scale: "linear", domain: [-end, end] },
    y: { title: "density", scale: chosen.log_y ? "log" : "linear", domain: [chosen.log_y ? least : 0, most * (chosen.log_y ? 1.6 : 1.06)] },
    series: [
      { key: "weights", label: matrix_place_words(chosen), color: { role: chosen.matrix } },
      { key: "null", label: "Gaussian", color: "null" },
    ],
    bars: [{ series: "weights", edges, heights }, ...(curve.length > 0 ? [{ series: "null", edges: fine, heights: curve }] : [])],
    height: 300,
  };
}

export interface Figure {
  name: string;
  value: number | null;
}

/** Statistics of all weights of a row. */
export function figures(row: WeightsRow): Figure[] {
  return [
    { name: "weights", value: row.count },
    { name: "mean", value: row.mean },
    { name: "standard deviation", value: row.std },
    { name: "minimum", value: row.min },
    { name: "maximum", value: row.max },
    { name: "skewness", value: row.skewness },
    { name: "excess kurtosis", value: row.excess_kurtosis },
    ...(row.histogram && row.histogram.outside > 0 ? [{ name: "outside the histogram", value: row.histogram.outside }] : []),
  ];
}

/** Quantiles of the weights. */
export const quantiles = (row: WeightsRow): Figure[] =>
  Object.entries(row.quantiles)
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([share, value]) => ({ name: `${threshold_words(Number(share))} quantile`, value }));

const kHeadsAlong: Partial<Record<Matrix, "rows" | "columns">> = { q: "rows", k: "rows", v: "rows", o: "columns" };

/** Size in weights of one block of the image. */
const block = ({ shape, rows, cols }: MatrixImage): [number, number] => [shape[0] / rows, shape[1] / cols];

/** A matrix as an image of weights, or of means over equal blocks. */
export function image_chart({ report, model }: Reading, layer: number, matrix: Matrix): ImageChart | undefined {
  const image = image_of(report, model.name, layer, matrix);
  if (!image) return undefined;
  const row = row_at(report, "weights", { model: model.name, layer, matrix });
  const [high, wide] = block(image);
  const each = high * wide;
  // The mean of n random weights has standard deviation std / √n. Values beyond four times that indicate structure and get the strongest
  // color.
  const end = Number((row && row.std > 0 ? (4 * row.std) / Math.sqrt(each) : Math.max(1e-12, image.limit)).toPrecision(2));
  const along = kHeadsAlong[matrix];
  const heads = matrix === "k" || matrix === "v" ? model.kv_heads : model.heads;
  const of_blocks = each > 1 ? `Means of ${Number(high.toPrecision(3))} × ${Number(wide.toPrecision(3))} weights. ` : "";
  return {
    kind: "image",
    name: `weights-image-${matrix}-${layer}`,
    title: matrix_place_words({ matrix, layer, head: null }),
    note:
      `${of_blocks}${along ? `Ticks: heads along ${along}. ` : ""}The scale ends at 4 standard deviations of ` +
      `${each > 1 ? "block means of random weights" : "the weights"}.`,
    values: image_values(report, image),
    rows: image.rows,
    columns: image.cols,
    shape: image.shape,
    scale: { kind: "diverging", domain: [-end, end], format: "+.2~r" },
    ...(along ? { heads: { along, count: heads } } : {}),
  };
}
