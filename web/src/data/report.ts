// An opened report and the look-ups that views ask of it.
import { number_at } from "./numbers";
import type { NumberList, ScaledSlice, Slice } from "./packed";
import type { Analysis, AnalysisId, MapPlace, Matrix, Model, ImageInput, ReportFile, RowsOf, AudioInput, Token } from "./report_file";

export interface Report {
  file: ReportFile;
  values: Float32Array; // all arrays of numbers, see Slice
  maps: Uint8Array; // attention maps, a byte a weight, see maps.ts
  live: boolean; // served by `attnscope serve`, which can compute more
}

const joined = new WeakMap<ReportFile, Map<AnalysisId, Analysis | undefined>>();

/** An analysis of all models: a report holds it model by model. Parameters are of the first, see parameters_of(). */
export function analysis<Id extends AnalysisId>(report: Report, id: Id): Analysis<RowsOf[Id]> | undefined {
  const known = joined.get(report.file) ?? new Map<AnalysisId, Analysis | undefined>();
  joined.set(report.file, known);
  if (!known.has(id)) {
    const parts = report.file.reports.filter((each) => each.id === id);
    const [first] = parts;
    known.set(
      id,
      first && {
        ...first,
        rows: parts.flatMap((part) => part.rows),
        skipped: parts.flatMap((part) => part.skipped),
        again: parts.flatMap((part) => part.again ?? []).join("\n") || null,
        notes: parts.flatMap((part) => part.notes ?? []),
      },
    );
  }
  return known.get(id) as Analysis<RowsOf[Id]> | undefined;
}

/** What an analysis was asked for, of one model. */
export function parameters_of(report: Report, id: AnalysisId, model: string): Analysis["parameters"] | undefined {
  return report.file.reports.find((each) => each.id === id && each.model === model)?.parameters;
}

export function model_at(report: Report, index: number): Model {
  const model = report.file.models[index] ?? report.file.models[0];
  if (!model) throw new Error("the report holds no model");
  return model;
}

/** The rows of an analysis that belong to a model; none where the analysis is missing. */
export function rows_of<Id extends AnalysisId>(report: Report, id: Id, model: string): RowsOf[Id][] {
  const rows = analysis(report, id)?.rows ?? [];
  return (rows as (RowsOf[Id] & { model: string })[]).filter((row) => row.model === model);
}

type Place = { model: string; layer: number; head?: number | null; matrix?: string; circuit?: string };
const place_key = (row: Place) => `${row.layer}/${row.matrix ?? row.circuit ?? ""}/${row.head ?? ""}/${row.model}`;
const indexes = new WeakMap<object, Map<string, unknown>>();

/** The row of an analysis at a place: model, layer and, where rows have them, matrix or circuit and head. */
export function row_at<
  Id extends "spectrum" | "weights" | "overlap" | "circuits" | "attention" | "attention_excluding_first" | "induction" | "mla",
>(report: Report, id: Id, place: Place): RowsOf[Id] | undefined {
  const found = analysis(report, id);
  if (!found) return undefined;
  let index = indexes.get(found);
  if (!index) {
    index = new Map((found.rows as Place[]).map((row) => [place_key(row), row]));
    indexes.set(found, index);
  }
  return index.get(place_key(place)) as RowsOf[Id] | undefined;
}

/** Why a layer's matrix has no row; undefined where it was not skipped. */
export function skipped_reason(report: Report, id: AnalysisId, place: Place): string | undefined {
  const name = place.matrix ?? place.circuit;
  return analysis(report, id)?.skipped.find(
    (each) =>
      each.model === place.model &&
      each.layer === place.layer &&
      (each.matrix ?? undefined) === name &&
      (each.head ?? null) === (place.head ?? null),
  )?.reason;
}

const kOrder: readonly Matrix[] = [
  "q",
  "k",
  "v",
  "o",
  "qk",
  "ov",
  "kv",
  "gate",
  "up",
  "down",
  "router",
  "shared_gate",
  "shared_up",
  "shared_down",
];

/** The matrices of rows, in the order in which they are always shown. */
export function matrices_in(rows: readonly { matrix: Matrix }[]): Matrix[] {
  const there = new Set(rows.map((row) => row.matrix));
  return kOrder.filter((matrix) => there.has(matrix));
}

/** The matrices that have rows for a model. */
export function matrices_of(report: Report, id: "spectrum" | "weights" | "similarity" | "overlap", model: string): Matrix[] {
  return matrices_in(rows_of(report, id, model));
}

/** The layers that an analysis has rows of for a model, or has left out for a reason. */
export function layers_of(report: Report, id: "spectrum" | "weights" | "overlap", model: string): number[] {
  const found = analysis<"spectrum" | "weights" | "overlap">(report, id);
  const places = [...(found?.rows ?? []), ...(found?.skipped ?? [])].filter((each) => each.model === model);
  return [...new Set(places.flatMap((each) => each.layer ?? []))].sort((a, b) => a - b);
}

/** Numbers of a slice of the block of values; a view, not a copy. A few numbers stand in the row itself. */
export function numbers(report: Report, slice: NumberList): Float32Array {
  return is_slice(slice) ? report.values.subarray(slice.at, slice.at + slice.length) : Float32Array.from(slice);
}

export function scaled_numbers(report: Report, slice: ScaledSlice | readonly number[]): Float32Array {
  return is_slice(slice) ? numbers(report, slice).map((value) => value * slice.scale) : Float32Array.from(slice);
}

const is_slice = <S extends Slice>(slice: S | readonly number[]): slice is S => !Array.isArray(slice);

/** The shares of the sum of squares that the first, the first two, … values hold. */
export function cumulative_energy(values: ArrayLike<number>): Float64Array {
  const shares = new Float64Array(values.length);
  let sum = 0;
  for (let index = 0; index < values.length; ++index) shares[index] = sum += number_at(values, index) ** 2;
  return sum > 0 ? shares.map((share) => share / sum) : shares;
}

/** Every index to 100, each 5th to 1,000, each 10th after it, and the last: enough for a line. */
export function thinned_indices(length: number): number[] {
  const kept: number[] = [];
  for (let index = 0; index < length; index += index < 100 ? 1 : index < 1000 ? 5 : 10) kept.push(index);
  if (length > 0 && kept[kept.length - 1] !== length - 1) kept.push(length - 1);
  return kept;
}

/** The figure at a threshold; undefined where the analysis was made without it. */
export function at_threshold<T>(figures: Readonly<Record<string, T>> | undefined, threshold: number): T | undefined {
  if (!figures) return undefined;
  const key = Object.keys(figures).find((each) => Math.abs(Number(each) - threshold) < 1e-9);
  return key === undefined ? undefined : figures[key];
}

/** The tokens of the text as they are shown: by their ids where there is no tokenizer. */
export function tokens_of(report: Report, model: string): ShownToken[] {
  return report.file.texts.find((text) => text.model === model)?.tokens.map(shown) ?? [];
}

/** The same of the other text that a model's queries look at; undefined where they look at their own. */
export function source_of(report: Report, model: string): ShownToken[] | undefined {
  return report.file.texts.find((text) => text.model === model)?.source?.map(shown);
}

export interface ShownToken {
  id: number;
  text: string;
}
const shown = ({ id, text }: Token): ShownToken => ({ id, text: text ?? String(id) });

export const image_input = (report: Report, model: string): ImageInput | undefined =>
  report.file.pictures.find((picture) => picture.model === model);

export const audio_input = (report: Report, model: string): AudioInput | undefined =>
  report.file.sounds.find((sound) => sound.model === model);

export function map_places(report: Report, model: string): MapPlace[] {
  return report.file.maps.filter((place) => place.model === model);
}
