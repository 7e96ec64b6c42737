// A handwritten report of one small model, for tests of charts.
import { byte_of_weight } from "../../src/data/maps";
import type { Report } from "../../src/data/report";
import type { Analysis, Model, ReportFile } from "../../src/data/report_file";
import type { Reading } from "../../src/shaping/reading";

export const kModel: Model = {
  name: "small",
  architecture: "llama",
  parameters: 1000,
  attention_parameters: 400,
  layers: 3,
  heads: 4,
  kv_heads: 2,
  head_dim: 8,
  hidden_size: 32,
  intermediate_size: null,
  vocab_size: null,
  context_length: null,
  kv_cache_bytes_per_token: null,
  tied_embedding: null,
  dtype: "F32",
  bytes: 4000,
  causal: true,
  rotary: false,
};

export const analysis_of = (id: string, rows: object[], parameters: object = {}, skipped: object[] = []): Analysis =>
  ({ id, model: kModel.name, again: "", command: id, parameters, rows, skipped }) as unknown as Analysis;

export const heads_of = (model: Model): { layer: number; head: number }[] =>
  Array.from({ length: model.layers * model.heads }, (_, index) => ({ layer: Math.floor(index / model.heads), head: index % model.heads }));

export function report_of(
  file: Partial<ReportFile>,
  maps: Uint8Array = new Uint8Array(0),
  values: Float32Array = new Float32Array(0),
): Report {
  return {
    file: {
      models: [kModel],
      reports: [],
      thresholds: [0.9],
      texts: [],
      pictures: [],
      sounds: [],
      maps: [],
      matrices: [],
      cosines: [],
      skipped: [],
      fields: {},
      command: "attnscope report small",
      ...file,
    } as ReportFile,
    values,
    maps,
    live: false,
  };
}

export const reading_of = (report: Report, params: Record<string, string> = {}, model = report.file.models[0]!): Reading => ({
  report,
  model,
  threshold: 0.9,
  state: { view: "", params },
});

export const circuit_row = (model: string, circuit: "qk" | "ov", place: { layer: number; head: number | null }, more: object = {}) => ({
  model,
  circuit,
  ...place,
  energy_rank: { "0.9": 5 },
  overlap: { "0.9": 1 },
  identity_cosine: 0.1,
  identity_cosine_bound: 0.5,
  symmetry: 0.2,
  copying_score: -0.3,
  ...more,
});

export const attention_row = (model: string, place: { layer: number; head: number }, more: object = {}) => ({
  model,
  ...place,
  sequences: 2,
  energy_rank: 4,
  energy_rank_error: 0.5,
  energy_columns: 6,
  energy_columns_error: null,
  entropy: 1.5,
  sink_mass: 0.25,
  previous_token: 0.1,
  current_token: 0.2,
  mean_distance: 3.25,
  ...more,
});

/** Bytes of a lower triangle in row-major order: every query attends uniformly to itself and earlier keys. */
export const uniform_triangle = (tokens: number): Uint8Array =>
  Uint8Array.from({ length: (tokens * (tokens + 1)) / 2 }, (_, index) =>
    byte_of_weight(1 / (Math.floor((Math.sqrt(8 * index + 1) - 1) / 2) + 1)),
  );
