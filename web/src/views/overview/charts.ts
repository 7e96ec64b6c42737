// The whole model in few pictures: its ranks, its maps, its heads, its spectra, and other models beside it.
import type { AtlasCell, AtlasChart } from "../../chart/atlas";
import type { ColourScale } from "../../chart/base";
import type { Cell, HeatmapChart } from "../../chart/heatmap";
import type { Line, LinesChart } from "../../chart/lines";
import type { WallChart } from "../../chart/wall";
import { matrix_words, type Words } from "../../chart/words";
import { map_bytes } from "../../data/maps";
import { at_threshold, cumulative_energy, map_places, matrices_of, numbers, row_at, rows_of, skipped_reason, thinned_indices } from "../../data/report";
import type { AnalysisId, CircuitRow, Matrix, SpectrumRow } from "../../data/report_file";
import { threshold_words } from "../../findings/finding";
import type { Reading } from "../../page/view";
import { spectrum_quantity } from "../spectra/charts";

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Layers down, matrices across: directions that hold the threshold's share of the energy. */
export function atlas_chart({ report, model, threshold }: Reading): AtlasChart {
  const matrices = matrices_of(report, "spectrum", model.name);
  const cell = (layer: number, matrix: Matrix): AtlasChart["cells"][number][number] => {
    const place = { model: model.name, layer, matrix };
    const row = row_at(report, "spectrum", place);
    const [rank, null_rank] = [at_threshold(row?.energy_rank, threshold), at_threshold(row?.null_energy_rank, threshold)];
    if (row && rank !== undefined && null_rank !== undefined) {
      const known: AtlasCell = { rank, null_rank, possible: row.possible_rank };
      return row.singular_values ? { ...known, energy: cumulative_energy(numbers(report, row.singular_values)) } : known;
    }
    const reason = skipped_reason(report, "spectrum", place);
    return reason === undefined ? "missing" : { skipped: reason };
  };
  const layers = range(model.layers);
  return {
    kind: "atlas", name: "overview-atlas", title: "Rank atlas", matrices, layers, cells: layers.map((layer) => matrices.map((matrix) => cell(layer, matrix))),
    note: `Directions that hold ${threshold_words(threshold)} of the energy. Bar: share of the possible rank; tick: what random numbers need. The stronger the tint, the further below it.${layers.length <= 16 ? " Curve: cumulative energy." : ""}`,
  };
}

/** Every head's map on the report's text. */
export function wall_chart({ report, model }: Reading): WallChart {
  const places = map_places(report, model.name);
  const tokens = places[0]?.tokens ?? 0;
  return {
    kind: "wall", name: "overview-wall", title: "Every head on one text", layers: model.layers, heads: model.heads, colour: "log", largest_cell: 84,
    note: `Attention maps over ${tokens} tokens: layers down, heads across, logarithmic colour. Choose one to read it with its tokens.`,
    maps: places.map((place) => ({ layer: place.layer, head: place.head, side: place.side, bytes: map_bytes(report, place) })),
  };
}

type HeadMeasure = { name: string; title: Words; note: Words; format: string; id: AnalysisId; matrix: "qk" | "ov"; value(reading: Reading, layer: number, head: number): number | null | undefined };

const circuit_at = ({ report, model }: Reading, circuit: "qk" | "ov", layer: number, head: number): CircuitRow | undefined =>
  row_at(report, "circuits", { model: model.name, layer, circuit, head });
const rank_at = (reading: Reading, circuit: "qk" | "ov", layer: number, head: number): number | undefined =>
  at_threshold(circuit_at(reading, circuit, layer, head)?.energy_rank, reading.threshold);

/** The null of a head's circuit: the same for all heads of a model. */
function head_null({ report, model, threshold }: Reading, matrix: "qk" | "ov"): number | undefined {
  const row = row_at(report, "spectrum", { model: model.name, layer: 0, matrix, head: 0 });
  return at_threshold(row?.null_energy_rank, threshold);
}

function rank_note(reading: Reading, matrix: "qk" | "ov"): string {
  const null_rank = head_null(reading, matrix);
  return `Directions for ${threshold_words(reading.threshold)} of the energy, of ${reading.model.head_dim}${null_rank === undefined ? "" : `; random numbers need ${null_rank}`}. Stronger: fewer.`;
}

// From the largest there is or random numbers need down to 0.7 of it, or to the least: stretched to the data, a rank or two would look like much.
function rank_scale(cells: readonly Cell[], null_rank = 0): ColourScale {
  const known = cells.filter((cell): cell is number => typeof cell === "number");
  const most = Math.max(1, null_rank, ...known);
  return { kind: "sequential", domain: [most, Math.min(Math.floor(0.7 * most), ...known)], format: ",.0f" };
}

const kSigned: ColourScale = { kind: "diverging", domain: [-1, 1], format: "+.0f" };

/** Four measures of every head's circuits; those that the report does not hold are left out. */
export function head_charts(reading: Reading): HeatmapChart[] {
  const measures: HeadMeasure[] = [
    { name: "qk-rank", title: "QK rank", note: rank_note(reading, "qk"), format: ",.0f", id: "circuits", matrix: "qk", value: (from, layer, head) => rank_at(from, "qk", layer, head) },
    { name: "ov-rank", title: "OV rank", note: ["The same of W", { sub: "O" }, " W", { sub: "V" }, ". Stronger: fewer."], format: ",.0f", id: "circuits", matrix: "ov", value: (from, layer, head) => rank_at(from, "ov", layer, head) },
    { name: "qk-symmetry", title: "QK symmetry", note: "+1: two tokens score each other alike; −1: one way only.", format: "score", id: "circuits", matrix: "qk", value: (from, layer, head) => circuit_at(from, "qk", layer, head)?.symmetry },
    { name: "ov-copying", title: "OV copying", note: "+1: the head raises the token it reads; −1: it lowers it.", format: "score", id: "circuits", matrix: "ov", value: (from, layer, head) => circuit_at(from, "ov", layer, head)?.copying_score },
  ];
  const { report, model } = reading;
  const labels = (count: number) => range(count).map(String);
  return measures.flatMap(({ name, title, note, format, id, matrix, value }) => {
    const cells = range(model.layers).map((layer) => range(model.heads).map((head): Cell => {
      const found = value(reading, layer, head);
      if (found !== undefined) return found;
      const reason = skipped_reason(report, id, { model: model.name, layer, circuit: matrix, matrix, head }) ?? skipped_reason(report, id, { model: model.name, layer, circuit: matrix, matrix });
      return reason === undefined ? "missing" : { skipped: reason };
    }));
    if (cells.flat().every((cell) => cell === "missing")) return [];
    return [{
      kind: "heatmap", name: `overview-${name}`, title, note, format, cells,
      rows: { title: "layer", labels: labels(model.layers) }, columns: { title: "head", labels: labels(model.heads) },
      scale: format === "score" ? kSigned : rank_scale(cells.flat(), head_null(reading, matrix)),
    }];
  });
}

const kPlain: readonly Matrix[] = ["q", "k", "v", "o", "gate", "up", "down"];
const kMostLines = 16; // in a panel: of deeper models every second, third … layer, and the last

/** A panel a projection, a line a layer: each singular value over what random numbers have at its index. */
export function null_chart({ report, model }: Reading): LinesChart | undefined {
  const every = Math.ceil(model.layers / kMostLines);
  const layers = range(model.layers).filter((layer) => layer % every === 0 || layer === model.layers - 1);
  const panels = matrices_of(report, "spectrum", model.name).filter((matrix) => kPlain.includes(matrix)).map((matrix) => ({
    title: matrix_words(matrix),
    lines: layers.flatMap((layer): Line[] => {
      const row = row_at(report, "spectrum", { model: model.name, layer, matrix });
      const values = row && spectrum_quantity(report, row, "null");
      if (!values) return [];
      // The last values of a square matrix nearly vanish, and those of its null: their quotient says nothing.
      const null_values = numbers(report, row.null_singular_values!);
      const kept = thinned_indices(values.length).filter((index) => null_values[index]! >= 0.06 * null_values[0]!);
      return [{ series: String(layer), x: kept.map((index) => index + 1), y: kept.map((index) => values[index]!) }];
    }),
  })).filter((panel) => panel.lines.length > 0);
  if (panels.length === 0) return undefined;
  const lines = panels.flatMap((panel) => panel.lines);
  const most = Math.max(2, ...lines.map((line) => Math.max(...Array.from(line.y, (value) => (Number.isFinite(value) ? value! : 0))))) * 1.1;
  return {
    kind: "lines", name: "overview-null", title: "Spectra against the null", panels, rule: 1, layer_key: model.layers,
    note: "Each singular value over the one that a Gaussian matrix of the same shape and energy has at that index, a line a layer. Flat at 1 is random; a steep left end is structure.",
    series: layers.map((layer) => ({ key: String(layer), label: `layer ${layer}`, colour: { layer, of: model.layers } })),
    x: { title: "index", scale: "log", domain: [1, Math.max(2, ...lines.map((line) => line.x[line.x.length - 1] ?? 1))], format: ",.0f", integers: true },
    y: { title: "over the null's", scale: "log", domain: [Math.min(0.3, 1 / most), most] },
  };
}

const kCompared: readonly Matrix[] = ["qk", "ov", "o", "down"];
const kDashes = [undefined, "7 3", "2 3", "9 3 2 3", "5 2 1 2 1 2"];

/** Rank over null against relative depth, so that lengths and widths agree: a line a model. */
export function models_chart({ report, threshold }: Reading): LinesChart | undefined {
  const { models } = report.file;
  if (models.length < 2) return undefined;
  const line = (matrix: Matrix, index: number): Line[] => {
    const model = models[index]!;
    const rows = rows_of(report, "spectrum", model.name).filter((row: SpectrumRow) => row.head === null && row.matrix === matrix).sort((a, b) => a.layer - b.layer);
    const share = (row: SpectrumRow) => {
      const [rank, null_rank] = [at_threshold(row.energy_rank, threshold), at_threshold(row.null_energy_rank, threshold)];
      return rank !== undefined && null_rank ? rank / null_rank : null;
    };
    return rows.length > 0 ? [{ series: String(index), x: rows.map((row) => (model.layers > 1 ? row.layer / (model.layers - 1) : 0)), y: rows.map(share) }] : [];
  };
  const panels = kCompared.map((matrix) => ({ title: matrix_words(matrix), lines: models.flatMap((_, index) => line(matrix, index)) })).filter((panel) => panel.lines.length > 0);
  if (panels.length === 0) return undefined;
  const most = Math.max(1.1, ...panels.flatMap((panel) => panel.lines.flatMap((each) => Array.from(each.y, (value) => value ?? 0))));
  return {
    kind: "lines", name: "overview-models", title: "Models side by side", panels, rule: 1, points: models.every((model) => model.layers <= 16),
    note: `Directions for ${threshold_words(threshold)} of the energy over what random numbers of that shape need, from the first layer to the last. 1 is random.`,
    series: models.map((model, index) => ({ key: String(index), label: model.name, colour: { model: index }, dash: kDashes[index % kDashes.length] })),
    x: { title: "depth", scale: "linear", domain: [0, 1] }, y: { title: "rank over null", scale: "linear", domain: [0, most], format: ".2f" },
  };
}
