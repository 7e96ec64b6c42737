// An opened report and the lookups that views need.
import { number_at } from "./numbers";
import type { NumberList, ScaledSlice, Slice } from "./packed";
import type { Analysis, AnalysisId, MapPlace, Matrix, Model, ImageInput, ReportFile, RowsOf, AudioInput, Token } from "./report_file";

export interface Report {
  file: ReportFile;
  values: Float32Array; // all arrays of numbers, see Slice
  maps: Uint8Array; // attention maps, one byte per weight, see maps.ts
  live: boolean; // served by `attnscope serve`, which can compute more
}

const joined = new WeakMap<ReportFile, Map<AnalysisId, Analysis | undefined>>();

/** An analysis joined over all models. Its parameters are those of the first model, see parameters_of(). */
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

/** Parameters of an analysis for one model. */
export function parameters_of(report: Report, id: AnalysisId, model: string): Analysis["parameters"] | undefined {
  return report.file.reports.find((each) => each.id === id && each.model === model)?.parameters;
}

export function model_at(report: Report, index: number): Model {
  const model = report.file.models[index] ?? report.file.models[0];
  if (!model) throw new Error("the report contains no model");
  return model;
}

/** Rows of an analysis for a model; empty if the analysis is missing. */
export function rows_of<Id extends AnalysisId>(report: Report, id: Id, model: string): RowsOf[Id][] {
  const rows = analysis(report, id)?.rows ?? [];
  return (rows as (RowsOf[Id] & { model: string })[]).filter((row) => row.model === model);
}

type Place = { model: string; layer: number; head?: number | null; matrix?: string; circuit?: string };
const place_key = (row: Place) => `${row.layer}/${row.matrix ?? row.circuit ?? ""}/${row.head ?? ""}/${row.model}`;
const indexes = new WeakMap<object, Map<string, unknown>>();

/** The row for a model, a layer and, if rows have them, a matrix or circuit and a head. */
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

/** Why a layer's matrix has no row. Undefined if it was not skipped. */
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

/** The matrices of rows, in display order. */
export function matrices_in(rows: readonly { matrix: Matrix }[]): Matrix[] {
  const there = new Set(rows.map((row) => row.matrix));
  return kOrder.filter((matrix) => there.has(matrix));
}

/** Matrices with rows for a model. */
export function matrices_of(report: Report, id: "spectrum" | "weights" | "similarity" | "overlap", model: string): Matrix[] {
  return matrices_in(rows_of(report, id, model));
}

/** Layers for which an analysis has rows or a reason for skipping. */
export function layers_of(report: Report, id: "spectrum" | "weights" | "overlap", model: string): number[] {
  const found = analysis<"spectrum" | "weights" | "overlap">(report, id);
  const places = [...(found?.rows ?? []), ...(found?.skipped ?? [])].filter((each) => each.model === model);
  return [...new Set(places.flatMap((each) => each.layer ?? []))].sort((a, b) => a - b);
}

/** Numbers of a slice, as a view of the values block. Short arrays are stored in the row itself. */
export function numbers(report: Report, slice: NumberList): Float32Array {
  return is_slice(slice) ? report.values.subarray(slice.at, slice.at + slice.length) : Float32Array.from(slice);
}

export function scaled_numbers(report: Report, slice: ScaledSlice | readonly number[]): Float32Array {
  return is_slice(slice) ? numbers(report, slice).map((value) => value * slice.scale) : Float32Array.from(slice);
}

const is_slice = <S extends Slice>(slice: S | readonly number[]): slice is S => !Array.isArray(slice);

/** Cumulative energy: fraction of the sum of squares in the first k values. */
export function cumulative_energy(values: ArrayLike<number>): Float64Array {
  const shares = new Float64Array(values.length);
  let sum = 0;
  for (let index = 0; index < values.length; ++index) shares[index] = sum += number_at(values, index) ** 2;
  return sum > 0 ? shares.map((share) => share / sum) : shares;
}

/** Every index up to 100, every 5th up to 1,000, then every 10th, and the last: enough to draw a line. */
export function thinned_indices(length: number): number[] {
  const kept: number[] = [];
  for (let index = 0; index < length; index += index < 100 ? 1 : index < 1000 ? 5 : 10) kept.push(index);
  if (length > 0 && kept[kept.length - 1] !== length - 1) kept.push(length - 1);
  return kept;
}

/** The value at a threshold. Undefined if the analysis did not use it. */
export function at_threshold<T>(figures: Readonly<Record<string, T>> | undefined, threshold: number): T | undefined {
  if (!figures) return undefined;
  const key = Object.keys(figures).find((each) => Math.abs(Number(each) - threshold) < 1e-9);
  return key === undefined ? undefined : figures[key];
}

/** Tokens of the text as displayed: ids if there is no tokenizer. */
export function tokens_of(report: Report, model: string): ShownToken[] {
  return report.file.texts.find((text) => text.model === model)?.tokens.map(shown) ?? [];
}

/** Tokens of the source text of cross-attention. Undefined for self-attention. */
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
