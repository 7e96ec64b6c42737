// Charts of the overview: ranks, attention maps, heads, spectra, and a comparison of models.
import type { AtlasCell, AtlasChart } from "../../chart/rank_atlas";
import type { HeatmapChart } from "../../chart/heatmap";
import type { Line, LinesChart } from "../../chart/lines";
import { counted } from "../../chart/number_format";
import type { MapGridChart } from "../../chart/attention_map_grid";
import { matrix_words } from "../../chart/rich_text";
import { map_bytes, stored_shape } from "../../data/maps";
import { largest_number, number_at, range } from "../../data/numbers";
import {
  at_threshold,
  cumulative_energy,
  map_places,
  matrices_of,
  numbers,
  row_at,
  skipped_reason,
  thinned_indices,
} from "../../data/report";
import type { AnyModel, Matrix } from "../../data/report_file";
import { ranks_by_depth } from "../../shaping/relative_depth";
import { head_figures } from "../../shaping/head_figures";
import { head_chart } from "../../shaping/head_grid";
import type { Reading } from "../../shaping/reading";
import { spectrum_quantity } from "../../shaping/spectrum_quantity";
import { threshold_words } from "../../shaping/shared_words";

/** Energy rank of every matrix. Rows: layers; columns: matrices. */
export function atlas_chart({ report, model, threshold }: Reading): AtlasChart {
  const matrices = matrices_of(report, "spectrum", model.name);
  const cell = (layer: number, matrix: Matrix): AtlasChart["cells"][number][number] => {
    const place = { model: model.name, layer, matrix };
    const row = row_at(report, "spectrum", place);
    const [rank, null_rank] = [at_threshold(row?.energy_rank, threshold), at_threshold(row?.random_energy_rank, threshold)];
    if (row && rank !== undefined && null_rank !== undefined) {
      const known: AtlasCell = { rank, null_rank, possible: row.max_possible_rank };
      return row.singular_values ? { ...known, energy: cumulative_energy(numbers(report, row.singular_values)) } : known;
    }
    const reason = skipped_reason(report, "spectrum", place);
    return reason === undefined ? "missing" : { skipped: reason };
  };
  const layers = range(model.layers);
  return {
    kind: "atlas",
    name: "overview-atlas",
    title: "Rank atlas",
    matrices,
    layers,
    cells: layers.map((layer) => matrices.map((matrix) => cell(layer, matrix))),
    note:
      `Energy rank (${threshold_words(threshold)}) of every matrix. Rows: layers. Bar: fraction of the maximum possible rank. Tick: ` +
      `random matrix. Stronger color: further below random.${layers.length <= 16 ? " Curve: cumulative energy." : ""}`,
  };
}

const kOne = { texts: "text", images: "image", sound: "audio file" } as const;

export const map_grid_title = ({ reads = "texts" }: AnyModel): string => `Attention of every head on one ${kOne[reads]}`;

/** Attention maps of all heads on the report's text. */
export function map_grid_chart({ report, model }: Reading): MapGridChart {
  const places = map_places(report, model.name);
  const [place] = places;
  const [noun, source] = place?.keys === undefined ? ["token", ""] : ["target token", ` and ${counted(place.keys, "source token")}`];
  return {
    kind: "wall",
    name: "overview-wall",
    title: map_grid_title(model),
    layers: model.layers,
    heads: model.heads,
    color: "log",
    largest_cell: 84,
    note:
      `Attention maps over ${counted(place?.tokens ?? 0, noun)}${source}. Rows: layers; columns: heads; logarithmic color scale. ` +
      "Select a map to see it with its tokens.",
    maps: places.map((each) => ({ layer: each.layer, head: each.head, shape: stored_shape(each), bytes: map_bytes(report, each) })),
  };
}

/** Four measures of every head's circuits, as far as the report has them. */
export function head_charts(reading: Reading): HeatmapChart[] {
  return head_figures(reading)
    .slice(0, 4)
    .map((figure) => head_chart(reading, { ...figure, name: `overview-${figure.name}` }))
    .filter((chart) => chart.cells.flat().some((cell) => cell !== "missing"));
}

const kPlain: readonly Matrix[] = ["q", "k", "v", "o", "gate", "up", "down", "router", "shared_gate", "shared_up", "shared_down"];
const kMostLines = 16; // per panel: deeper models show every second, third … layer, and the last

/** Singular values relative to a random matrix: one panel per projection, one line per layer. */
export function random_baseline_chart({ report, model }: Reading): LinesChart | undefined {
  const every = Math.ceil(model.layers / kMostLines);
  const layers = range(model.layers).filter((layer) => layer % every === 0 || layer === model.layers - 1);
  const panels = matrices_of(report, "spectrum", model.name)
    .filter((matrix) => kPlain.includes(matrix))
    .map((matrix) => ({
      title: matrix_words(matrix),
      lines: layers.flatMap((layer): Line[] => {
        const row = row_at(report, "spectrum", { model: model.name, layer, matrix });
        const values = row && spectrum_quantity(report, row, "null");
        if (!values || !row.random_singular_values) return [];
        // The last singular values of square matrices are near 0, as are those of the baseline, so their ratio is meaningless.
        const null_values = numbers(report, row.random_singular_values);
        const kept = thinned_indices(values.length).filter((index) => number_at(null_values, index) >= 0.06 * number_at(null_values, 0));
        return [{ series: String(layer), x: kept.map((index) => index + 1), y: kept.map((index) => number_at(values, index)) }];
      }),
    }))
    .filter((panel) => panel.lines.length > 0);
  if (panels.length === 0) return undefined;
  const lines = panels.flatMap((panel) => panel.lines);
  const most = Math.max(2, ...lines.map((line) => largest_number(line.y) ?? 0)) * 1.1;
  return {
    kind: "lines",
    name: "overview-null",
    title: "Spectra relative to random",
    panels,
    rule: 1,
    layer_key: model.layers,
    note:
      "Each singular value divided by that of a Gaussian matrix with the same shape and energy, one line per layer. " +
      "Flat at 1: random. Steep left end: structure.",
    series: layers.map((layer) => ({ key: String(layer), label: `layer ${layer}`, color: { layer, of: model.layers } })),
    x: {
      title: "index",
      scale: "log",
      domain: [1, Math.max(2, ...lines.map((line) => line.x[line.x.length - 1] ?? 1))],
      format: ",.0f",
      integers: true,
    },
    y: { title: "relative to random", scale: "log", domain: [Math.min(0.3, 1 / most), most] },
  };
}

/** Energy rank relative to random by relative depth, one line per model. */
export function models_chart(reading: Reading): LinesChart | undefined {
  const chart = reading.report.file.models.length > 1 ? ranks_by_depth(reading, ["qk", "ov", "o", "down"]) : undefined;
  return chart && { ...chart, name: "overview-models", title: "Comparison of models" };
}
