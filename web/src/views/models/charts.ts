// Several models over each other, by relative depth; revisions of one, by training step.
import type { Axis } from "../../chart/axis";
import type { Series } from "../../chart/base";
import type { Line, LinesChart, Panel } from "../../chart/lines";
import { matrix_words } from "../../chart/words";
import { at_threshold, layers_of, matrices_of, row_at, rows_of, type Report } from "../../data/report";
import type { AttentionLayerRow, CircuitsRow, Matrix, Model } from "../../data/report_file";
import type { Reading } from "../../page/view";
import { text_facts } from "../attention/charts";
import { percent } from "../heads/charts";
import { range } from "../heads/grid";
import { usual_layers } from "../layers";
import { by_step } from "./steps";

const kDashes = [undefined, "6 3", "2 3", "8 3 2 3", "12 4", "4 2 1 2"];

/** A colour and a dash for each model; revisions of one take theirs from the sequential scale, by their steps. */
export function model_series({ file }: Report): Series[] {
  const revisions = by_step(file.models);
  const all_are = revisions.length === file.models.length;
  return file.models.map((model, index) => {
    const dash = all_are ? undefined : kDashes[index % kDashes.length];
    const colour = all_are ? { layer: revisions.findIndex((each) => each.model === model), of: revisions.length } : { model: index };
    return { key: String(index), label: model.name, colour, ...(dash ? { dash } : {}) };
  });
}

/** Layers from 0 to 1, so that models of different depth lie over each other. */
export const depth = (layer: number, layers: number): number => (layers > 1 ? layer / (layers - 1) : 0);

const kDepth: Axis = { title: "depth", scale: "linear", domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1], format: "percent" };

function depth_line(model: Model, index: number, value: (layer: number) => number | null | undefined): Line {
  return { series: String(index), x: range(model.layers).map((layer) => depth(layer, model.layers)), y: range(model.layers).map((layer) => value(layer) ?? null) };
}

const has_values = (line: Line) => Array.from(line.y).some((value) => value !== null);
const all_values = (panels: readonly Panel[]): number[] => panels.flatMap((panel) => panel.lines.flatMap((line) => Array.from(line.y).filter((value): value is number => value !== null)));

const all_matrices = (report: Report): Matrix[] => {
  const there = report.file.models.flatMap((model) => matrices_of(report, "spectrum", model.name));
  const order: readonly Matrix[] = ["q", "k", "v", "o", "qk", "ov", "kv", "gate", "up", "down"];
  return order.filter((matrix) => there.includes(matrix));
};

/** Rank over the null's at the threshold, of every matrix: 1 is random, whatever the shape. */
export function relative_rank(report: Report, model: string, layer: number, matrix: Matrix, threshold: number): number | null {
  const row = row_at(report, "spectrum", { model, layer, matrix });
  const [rank, null_rank] = [at_threshold(row?.energy_rank, threshold), at_threshold(row?.null_energy_rank, threshold)];
  return rank !== undefined && null_rank ? rank / null_rank : null;
}

export function ranks_by_depth({ report, threshold }: Reading, matrices = all_matrices(report)): LinesChart | undefined {
  const panels = matrices.map((matrix): Panel => ({
    title: matrix_words(matrix),
    lines: report.file.models.map((model, index) => depth_line(model, index, (layer) => relative_rank(report, model.name, layer, matrix, threshold))).filter(has_values),
  })).filter((panel) => panel.lines.length > 0);
  if (panels.length === 0) return undefined;
  return {
    kind: "lines", name: "models-ranks", title: "Rank against random numbers",
    note: `Directions for ${percent(threshold)} of the energy, over what random numbers of that shape need: 1 is random. First layer at the left, last at the right.`,
    x: kDepth, y: { title: "rank / null", scale: "linear", domain: [0, Math.max(1.1, ...all_values(panels))], format: "tick" }, rule: 1,
    series: model_series(report), panels, points: Math.max(...report.file.models.map((model) => model.layers)) <= 16,
  };
}

const mean = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value): value is number => value !== null);
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
};

/** Means over the heads of each layer: symmetry of QK and copying score of OV. */
export function heads_by_depth({ report }: Reading): LinesChart | undefined {
  const of = (circuit: "qk" | "ov", read: (row: CircuitsRow) => number | null) => report.file.models.map((model, index) => {
    const rows = rows_of(report, "circuits", model.name).filter((row) => row.circuit === circuit && row.head !== null);
    return depth_line(model, index, (layer) => mean(rows.filter((row) => row.layer === layer).map(read)));
  }).filter(has_values);
  const panels: Panel[] = [
    { title: "Symmetry of QK, mean over heads", lines: of("qk", (row) => row.symmetry) },
    { title: "Copying score of OV, mean over heads", lines: of("ov", (row) => row.copying_score) },
  ].filter((panel) => panel.lines.length > 0);
  if (panels.length === 0) return undefined;
  return {
    kind: "lines", name: "models-heads", title: "Symmetry and copying score", note: "Of the weights. +1: QK scores two tokens alike both ways, the eigenvalues of OV are all positive; \u22121: oppositely, all negative.",
    x: kDepth, y: { title: "", scale: "linear", domain: [-1, 1], ticks: [-1, -0.5, 0, 0.5, 1], format: "score" }, rule: 0, series: model_series(report), panels,
  };
}

/** The largest rank of a layer's maps over their size, and the collapse that it shows. */
export function max_rank_by_depth(reading: Reading): LinesChart | undefined {
  const { report } = reading;
  const { energy } = text_facts(reading);
  // Texts are cut to what each model takes: their lengths may differ.
  const lengths = [...new Set(report.file.models.map((model) => text_facts({ report, model }).length))].filter((each) => each > 0);
  const length = Math.max(0, ...lengths);
  const lines = report.file.models.map((model, index) => {
    const rows = new Map(rows_of(report, "attention", model.name).filter((row): row is AttentionLayerRow => row.head === null).map((row) => [row.layer, row]));
    const line = depth_line(model, index, (layer) => rows.get(layer)?.mean_max_rank);
    return { ...line, error: range(model.layers).map((layer) => rows.get(layer)?.mean_max_rank_error ?? null) };
  }).filter(has_values);
  if (lines.length === 0) return undefined;
  const most = Math.max(length / 3, ...all_values([{ lines }]));
  return {
    kind: "lines", name: "models-max-rank", title: "MaxRank", note: `The largest rank among a layer's maps at ${Math.round(energy * 100)}\u202f% of the energy${length > 0 ? `, of ${lengths.join(" or ")}` : ""}; bars are standard errors.`,
    x: kDepth, y: { title: "", scale: "linear", domain: [0, most * 1.1], integers: true }, series: model_series(report), panels: [{ lines }], points: true,
  };
}

/** Rank of each matrix against the training step, a line a layer; undefined for fewer than two revisions. */
export function ranks_by_step({ report, threshold }: Reading): LinesChart | undefined {
  const revisions = by_step(report.file.models);
  const first = revisions[0]?.model;
  if (!first || new Set(revisions.map(({ step }) => step)).size < 2) return undefined;
  const steps = revisions.map(({ step }) => step);
  const layers = usual_layers(layers_of(report, "spectrum", first.name));
  const panels = all_matrices(report).map((matrix): Panel => ({
    title: matrix_words(matrix),
    lines: layers.map((layer) => ({
      series: String(layer), x: steps, y: revisions.map(({ model }) => relative_rank(report, model.name, layer, matrix, threshold)),
    })).filter(has_values),
  })).filter((panel) => panel.lines.length > 0);
  if (panels.length === 0) return undefined;
  return {
    kind: "lines", name: "models-steps", title: "Ranks in training", note: `Directions for ${percent(threshold)} of the energy, over what random numbers need, against the training step; a line a layer.`,
    x: step_axis(steps), y: { title: "rank / null", scale: "linear", domain: [0, Math.max(1.1, ...all_values(panels))], format: "tick" }, rule: 1,
    series: layers.map((layer) => ({ key: String(layer), label: `layer ${layer}`, colour: { layer, of: first.layers } })), panels, points: true,
  };
}

/** Logarithmic where steps span more than two decades; with a step 0, linear below the first one after it. */
export function step_axis(steps: readonly number[]): Axis {
  const last = Math.max(...steps);
  const after_zero = Math.min(...steps.filter((step) => step > 0));
  const wide = last / after_zero > 100;
  const axis = { title: "training step", format: "~s" };
  if (!wide) return { ...axis, scale: "linear", domain: [Math.min(...steps), last] };
  return steps.includes(0) ? { ...axis, scale: "symlog", domain: [0, last], ticks: [...new Set(steps)] } : { ...axis, scale: "log", domain: [after_zero, last] };
}

/** Exported once, with the first model: a chart of all models is not a chart of each. */
export function models_charts(reading: Reading): LinesChart[] {
  if (reading.report.file.models.length < 2 || reading.model !== reading.report.file.models[0]) return [];
  return [ranks_by_depth(reading), heads_by_depth(reading), max_rank_by_depth(reading), ranks_by_step(reading)].filter((chart) => chart !== undefined);
}
