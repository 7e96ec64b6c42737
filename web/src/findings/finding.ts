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

/** The largest value of each layer; null where a layer has none. */
export function largest_by_layer<Row extends { layer: number }>(layers: number, rows: readonly Row[], value: (row: Row) => number | null): (number | null)[] {
  const largest: (number | null)[] = Array.from({ length: layers }, () => null);
  for (const row of rows) {
    const [here, there] = [value(row), largest[row.layer] ?? null];
    if (here !== null && (there === null || here > there)) largest[row.layer] = here;
  }
  return largest;
}

/** Tokens of the texts that attention was measured on; 0 where that is not known. */
export function text_length({ report, model }: Reading): number {
  const length = parameters_of(report, "attention", model.name)?.length;
  return tokens_of(report, model.name).length || (typeof length === "number" ? length : 0);
}

/** Shorter texts leave attention too few places for a sentence about it. */
export const kShortestText = 16;

export const reads_one_way = ({ model }: Reading): boolean => model.causal !== false;

/** "layers 2, 5 and 9–11" */
export function layers_words(layers: readonly number[]): string {
  const runs: string[] = [];
  for (let index = 0; index < layers.length; ) {
    let end = index;
    while (layers[end + 1] === layers[end]! + 1) ++end;
    if (end === index + 1) runs.push(String(layers[index]), String(layers[end]));
    else runs.push(end > index ? `${layers[index]}–${layers[end]}` : String(layers[index]));
    index = end + 1;
  }
  const last = runs.pop()!;
  return `layer${layers.length > 1 ? "s" : ""} ${runs.length > 0 ? `${runs.join(", ")} and ` : ""}${last}`;
}
