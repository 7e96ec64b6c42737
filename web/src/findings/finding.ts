// What a sentence about a model is, and what several kinds of sentences share.
import { format_number } from "../chart/number";
import type { Spark } from "../chart/spark";
import { matrix_words, type Word, type Words } from "../chart/words";
import { parameters_of, tokens_of } from "../data/report";
import type { Matrix } from "../data/report_file";
import type { Changes } from "../page/state";
import type { Reading } from "../page/view";

export interface Finding {
  kind: string;
  figure: string; // large: "141 of 384"
  unit: string; // beside it: "directions"
  words: Words; // the sentence that continues the figure, with its null or chance value
  spark?: Spark; // over layers
  distance: number; // from the null, 0, to the most that the measure can be, 1
  see: { view: string; state: Changes }; // where it is to be seen
}

/** Says what it has to say of a model, or nothing where the numbers do not carry it. */
export type Kind = (reading: Reading) => Finding | undefined;

export const strong = (value: string | number): Word => ({ strong: String(value) });

/** "layer 5 head 7" */
export const place_words = (place: { layer: number; head: number }): Word[] => ["layer ", strong(place.layer), " head ", strong(place.head)];

/** A matrix within a sentence. */
export function matrix_name(matrix: Matrix): Word[] {
  if (matrix === "qk" || matrix === "ov") return [`the ${matrix.toUpperCase()} circuit`];
  if (matrix === "kv") return ["K and V together"];
  const words = matrix_words(matrix);
  return typeof words === "string" ? [`the MLP's ${words}`] : [...words];
}

export const threshold_words = (threshold: number): string => `${Number((threshold * 100).toPrecision(6))}\u202f%`;

/** A share that is said to be reached, so never rounded up. */
export const at_least_percent = (share: number): string => `${Math.floor(share * 100 + 1e-9)}\u202f%`;

/** A share that is said not to be passed, so never rounded down. */
export const at_most_percent = (share: number): string => `${Math.ceil(share * 1000 - 1e-9) / 10}\u202f%`;

/** A small chance value: two digits that say something, so that it is never said to be 0. */
export const small_percent = (share: number): string =>
  share >= 0.1 ? format_number(share, "percent") : `${Number((share * 100).toPrecision(share < 0.01 ? 1 : 2))}\u202f%`;

/** Three figures, and whole numbers from a hundred on. */
export const figure = (value: number): string => format_number(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)), "tick");

/** 0 at the null, 1 at the most that the measure can be. */
export const between = (from: number, value: number, most: number): number => (most === from ? 0 : (value - from) / (most - from));

/** The row with the largest value, and that; undefined where no row has one. */
export function largest<Row>(rows: readonly Row[], value: (row: Row) => number | null | undefined): { row: Row; value: number } | undefined {
  let found: { row: Row; value: number } | undefined;
  for (const row of rows) {
    const here = value(row);
    if (typeof here === "number" && (!found || here > found.value)) found = { row, value: here };
  }
  return found;
}

/** The largest value of each layer; null where a layer has none. */
export function largest_by_layer<Row extends { layer: number }>(layers: number, rows: readonly Row[], value: (row: Row) => number | null | undefined): (number | null)[] {
  const all: (number | null)[] = Array.from({ length: layers }, () => null);
  for (const row of rows) {
    const [here, there] = [value(row) ?? null, all[row.layer] ?? null];
    if (here !== null && (there === null || here > there)) all[row.layer] = here;
  }
  return all;
}

/** Tokens of the texts that attention was measured on; 0 where that is not known. */
export function text_length({ report, model }: Reading): number {
  const length = parameters_of(report, "attention", model.name)?.length;
  return tokens_of(report, model.name).length || (typeof length === "number" ? length : 0);
}

/** Shorter texts leave attention too few places for a sentence about it. */
export const kShortestText = 16;

export const reads_one_way = ({ model }: Reading): boolean => model.causal !== false;

/** The first and the last of each run of layers that follow one another. */
export function layer_runs(layers: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const layer of layers) {
    const last = runs[runs.length - 1];
    if (last && layer === last[1] + 1) last[1] = layer;
    else runs.push([layer, layer]);
  }
  return runs;
}

/** "layers 2, 5 and 9–11" */
export function layers_words(layers: readonly number[]): string {
  const words = layer_runs(layers).flatMap(([from, to]) => (to > from + 1 ? [`${from}–${to}`] : from === to ? [String(from)] : [String(from), String(to)]));
  const last = words.pop();
  return `layer${layers.length > 1 ? "s" : ""} ${words.length > 0 ? `${words.join(", ")} and ` : ""}${last}`;
}
