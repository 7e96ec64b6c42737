// Lines of several models by relative depth.
import type { Axis } from "../chart/axis";
import type { Series } from "../chart/chart_fields";
import type { Line, LinesChart, Panel } from "../chart/lines";
import { matrix_words } from "../chart/rich_text";
import { range } from "../data/numbers";
import { at_threshold, matrices_in, row_at, type Report } from "../data/report";
import type { Matrix, Model, SpectrumRow } from "../data/report_file";
import type { Reading } from "./reading";
import { by_step } from "./training_steps";
import { threshold_words } from "./shared_words";

const kDashes = [undefined, "6 3", "2 3", "8 3 2 3", "12 4", "4 2 1 2"];

/** A color and a dash for each model. Revisions of one model are colored by training step. */
export function model_series({ file }: Report): Series[] {
  const revisions = by_step(file.models);
  const all_are = revisions.length === file.models.length;
  return file.models.map((model, index) => {
    const dash = all_are ? undefined : kDashes[index % kDashes.length];
    const color = all_are ? { layer: revisions.findIndex((each) => each.model === model), of: revisions.length } : { model: index };
    return { key: String(index), label: model.name, color, ...(dash ? { dash } : {}) };
  });
}

/** Relative depth of a layer, 0 to 1, so that models of different depth can be compared. */
export const depth = (layer: number, layers: number): number => (layers > 1 ? layer / (layers - 1) : 0);

export const kDepth: Axis = { title: "depth", scale: "linear", domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1], format: "percent" };

export function depth_line(model: Model, index: number, value: (layer: number) => number | null | undefined): Line {
  return {
    series: String(index),
    x: range(model.layers).map((layer) => depth(layer, model.layers)),
    y: range(model.layers).map((layer) => value(layer) ?? null),
  };
}

export const has_values = (line: Line) => Array.from(line.y).some((value) => value !== null);
export const all_values = (panels: readonly Panel[]): number[] =>
  panels.flatMap((panel) => panel.lines.flatMap((line) => Array.from(line.y).filter((value): value is number => value !== null)));

export const all_matrices = ({ file }: Report): Matrix[] =>
  matrices_in(file.reports.flatMap((each) => (each.id === "spectrum" ? (each.rows as SpectrumRow[]) : [])));

/** Energy rank divided by the random baseline: 1 is random, for any shape. */
export function relative_rank(report: Report, model: string, layer: number, matrix: Matrix, threshold: number): number | null {
  const row = row_at(report, "spectrum", { model, layer, matrix });
  const [rank, null_rank] = [at_threshold(row?.energy_rank, threshold), at_threshold(row?.random_energy_rank, threshold)];
  return rank !== undefined && null_rank ? rank / null_rank : null;
}

export function ranks_by_depth({ report, threshold }: Reading, matrices = all_matrices(report)): LinesChart | undefined {
  const panels = matrices
    .map((matrix): Panel => ({
      title: matrix_words(matrix),
      lines: report.file.models
        .map((model, index) => depth_line(model, index, (layer) => relative_rank(report, model.name, layer, matrix, threshold)))
        .filter(has_values),
    }))
    .filter((panel) => panel.lines.length > 0);
  if (panels.length === 0) return undefined;
  return {
    kind: "lines",
    name: "models-ranks",
    title: "Energy rank relative to random",
    note:
      `Energy rank (${threshold_words(threshold)}) divided by that of a random matrix of the same shape. 1: random. ` +
      "Horizontal: relative depth, from the first to the last layer.",
    x: kDepth,
    y: { title: "rank / random", scale: "linear", domain: [0, Math.max(1.1, ...all_values(panels))], format: "tick" },
    rule: 1,
    series: model_series(report),
    panels,
    points: Math.max(...report.file.models.map((model) => model.layers)) <= 16,
  };
}
