// Minimal rows for findings, and the text of a finding about them.
import { plain } from "../../../src/chart/rich_text";
import type { Report } from "../../../src/data/report";
import type { AnalysisId, AnyModel, Model, ReportFile } from "../../../src/data/report_file";
import type { Kind } from "../../../src/findings/finding";
import type { Reading } from "../../../src/shaping/reading";

export const kModel: Model = {
  name: "made",
  architecture: "gpt2",
  parameters: 1,
  attention_parameters: 1,
  layers: 6,
  heads: 4,
  kv_heads: 4,
  head_dim: 16,
  hidden_size: 64,
  intermediate_size: 256,
  vocab_size: null,
  context_length: null,
  kv_cache_bytes_per_token: 1,
  tied_embedding: true,
  dtype: "F32",
  bytes: 4,
  causal: true,
  rotary: false,
};

type Rows = Partial<Record<AnalysisId, readonly object[]>>;

export interface Made {
  model?: Partial<Model & AnyModel>;
  rows?: Rows;
  parameters?: Partial<Record<AnalysisId, object>>;
  threshold?: number;
  thresholds?: number[];
  values?: readonly number[];
}

/** A reading of a report with these rows. Rows without a model get the model's name. */
export function reading({ model, rows = {}, parameters = {}, threshold = 0.9, thresholds = [0.5, 0.9], values = [] }: Made): Reading {
  const made = { ...kModel, ...model };
  const file = {
    thresholds,
    models: [made],
    texts: [],
    pictures: [],
    sounds: [],
    maps: [],
    matrices: [],
    cosines: [],
    skipped: [],
    fields: { attention: [{ name: "collapsed", type: "flag", meaning: "", words: "rank below 2" }] },
    reports: Object.entries(rows).map(([id, each]) => ({
      id,
      model: made.name,
      rows: each.map((row) => ({ model: made.name, ...row })),
      skipped: [],
      parameters: { energy: 0.9, length: 100, ...parameters[id as AnalysisId] },
    })),
  } as unknown as ReportFile;
  const report: Report = { file, values: Float32Array.from(values), maps: new Uint8Array(0), live: false };
  return { report, state: { view: "", params: {} }, model: made, threshold };
}

/** Figure, unit and words as one text. Undefined if there is no finding. */
export function said(kind: Kind, made: Made): string | undefined {
  const finding = kind(reading(made));
  return finding && `${finding.figure} ${finding.unit} ${plain(finding.words)}`.replace(/\u202f/g, " ");
}

/** A spectrum row of a whole layer: rank and random rank at 0.9, and proportional ranks at 0.5. */
export const spectrum = (layer: number, matrix: string, rank: number, null_rank = 40, more: object = {}) => ({
  layer,
  matrix,
  head: null,
  shape: [64, 64],
  max_possible_rank: 64,
  frobenius_norm: 1,
  spectral_norm: 1,
  energy_rank: { "0.5": Math.round(rank * 0.3), "0.9": rank },
  random_energy_rank: { "0.5": Math.round(null_rank * 0.3), "0.9": null_rank },
  ...more,
});

export const attention_layer = (layer: number, mean_max_rank: number | null, more: object = {}) => ({
  layer,
  head: null,
  mean_max_rank,
  mean_max_rank_error: 0.1,
  mean_energy_columns: mean_max_rank,
  uniform_energy_columns: 30,
  collapsed: false,
  ...more,
});

export const attention_head = (layer: number, head: number, more: object) => ({
  layer,
  head,
  sink_mass: 0.05,
  sink_mass_error: 0.001,
  uniform_sink_mass: 0.0519,
  previous_token: 0.04,
  previous_token_error: 0.001,
  uniform_previous_token: 0.0423,
  ...more,
});

export const circuit = (layer: number, kind: "qk" | "ov", head: number | null, more: object) => ({
  layer,
  circuit: kind,
  head,
  frobenius_norm: 1,
  energy_rank: { "0.5": 4 },
  copying_score: 0,
  symmetry: 0,
  positive_fraction: 0.5,
  identity_cosine: 0,
  identity_cosine_bound: 1,
  ...more,
});
