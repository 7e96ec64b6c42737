// What a report holds: the schema "attnscope-report/1", field by field. The binary writes it; nothing here
// is checked again, except that any analysis may be missing.

export type Matrix = "q" | "k" | "v" | "o" | "qk" | "ov" | "kv" | "gate" | "up" | "down";

/** A figure for each threshold of energy, by the threshold as text: {"0.9": 24}. */
export type ByThreshold<T = number> = Readonly<Record<string, T>>;

/** Where an array lies in the block of values: float32 [at, at + length). */
export interface Slice {
  at: number;
  length: number;
}

/** The null's values are shared by all rows of a shape and multiplied by `scale`. */
export interface ScaledSlice extends Slice {
  scale: number;
}

export interface Histogram {
  edges: Slice; // bins + 1
  counts: number[];
  outside: number;
}

export interface Model {
  name: string;
  architecture: string;
  parameters: number;
  attention_parameters?: number;
  layers: number;
  heads: number;
  kv_heads: number;
  head_dim: number;
  width: number;
  mlp_width?: number | null;
  vocabulary?: number | null;
  context?: number | null;
  dtype: string;
  bytes: number;
  kv_cache_bytes_per_token?: number | null;
  tied_embedding?: boolean;
  causal?: boolean;
  rotary?: boolean;
}

export interface SpectrumRow {
  model: string;
  layer: number;
  matrix: Matrix;
  head: number | null; // null: the whole layer
  shape: [number, number];
  energy_rank: ByThreshold;
  null_energy_rank: ByThreshold;
  possible_rank: number;
  stable_rank: number;
  entropy_rank: number;
  participation_ratio: number;
  numerical_rank: number;
  spectral_norm: number;
  frobenius_norm: number;
  nuclear_norm: number;
  condition_number: number | null;
  singular_values?: Slice | number[]; // descending; up to 8 numbers stand here themselves
  null_singular_values?: ScaledSlice | number[] | null;
}

export interface LatentSide {
  possible_rank: number;
  rank: number;
  energy: number;
  null_energy: number;
  share_rank: number;
  share_energy: number;
  share_null_energy: number;
  energy_rank: ByThreshold;
  null_energy_rank: ByThreshold;
}

export interface MlaRow {
  model: string;
  layer: number;
  query: LatentSide;
  kv: LatentSide;
}

export interface WeightsRow {
  model: string;
  layer: number;
  matrix: Matrix;
  head: number | null;
  count: number;
  mean: number;
  std: number;
  min: number;
  max: number;
  skewness: number | null;
  excess_kurtosis: number | null;
  quantiles: Readonly<Record<string, number>>;
  histogram?: Histogram;
}

export interface SimilarityRow {
  model: string;
  layer: number;
  matrix: Matrix;
  scope: "within_head" | "across_head" | "all";
  pairs: number;
  zero_vectors: number;
  mean: number | null;
  std: number | null;
  histogram?: Histogram;
}

export interface OverlapRow {
  model: string;
  layer: number;
  matrix: Matrix;
  overlap: (number | null)[][] | (Slice & { shape: [number, number] }); // heads × heads
  ranks: number[];
}

export interface CircuitRow {
  model: string;
  layer: number;
  circuit: "qk" | "ov";
  head: number | null; // null: the sum over the layer's heads
  energy_rank: ByThreshold;
  factor_rank: ByThreshold<Readonly<Record<string, number>>>;
  head_space_rank: ByThreshold;
  overlap: ByThreshold;
  head_space_overlap: ByThreshold;
  identity_cosine: number | null;
  identity_cosine_bound: number;
  identity_distance: number | null;
  identity_scale: number | null;
  identity_residual: number | null;
  symmetry: number | null;
  positive_fraction: number | null;
  copying_score: number | null;
  frobenius_norm: number;
  possible_rank: number;
}

export interface CompositionRow {
  model: string;
  kind: "q" | "k" | "v";
  layer: number;
  head: number;
  to_layer: number;
  to_head: number;
  score: number | null;
  excess: number | null;
}

/** Means over the sequences, each with its standard error in `<name>_error` (null for one sequence). */
export interface AttentionHeadRow {
  model: string;
  layer: number;
  head: number;
  sequences: number;
  energy_rank: number;
  energy_rank_error: number | null;
  columns: number;
  columns_error: number | null;
  top_columns: number[];
  first_column_share: number;
  first_column_share_error: number | null;
  entropy: number; // nats
  entropy_error: number | null;
  sink_mass: number;
  sink_mass_error: number | null;
  null_sink_mass: number; // of even attention
  previous_token: number;
  previous_token_error: number | null;
  null_previous_token: number | null;
  diagonal: number;
  diagonal_error: number | null;
  mean_distance: number; // tokens
  mean_distance_error: number | null;
}

export interface AttentionLayerRow {
  model: string;
  layer: number;
  head: null;
  sequences: number;
  max_rank: number;
  mean_max_rank: number;
  mean_max_rank_error: number | null;
  mean_columns: number;
  mean_columns_error: number | null;
  null_columns: number; // of even attention
  collapsed: boolean | null; // null: a text too short to say, or another energy
}

export type AttentionRow = AttentionHeadRow | AttentionLayerRow;

export interface InductionRow {
  model: string;
  layer: number;
  head: number;
  induction: number;
  induction_error: number | null;
  null_induction: number;
  duplicate_token: number;
  duplicate_token_error: number | null;
  null_duplicate_token: number;
}

/** The row type of each analysis, by the id it has in a report. */
export interface RowsOf {
  spectrum: SpectrumRow;
  mla: MlaRow;
  weights: WeightsRow;
  similarity: SimilarityRow;
  overlap: OverlapRow;
  circuits: CircuitRow;
  composition: CompositionRow;
  attention: AttentionRow;
  attention_without_first: AttentionRow;
  induction: InductionRow;
}

export type AnalysisId = keyof RowsOf;

export interface Skipped {
  model: string;
  layer?: number | null;
  matrix?: string | null;
  head?: number | null;
  name?: string | null;
  reason: string;
}

export interface Analysis<Row = unknown> {
  id: AnalysisId;
  model: string; // that it is of: a report has an entry for each analysis and model
  again: string | null; // the command that makes these rows again; null: it would find nothing
  command: string;
  parameters: Readonly<Record<string, unknown>>;
  rows: Row[];
  skipped: Skipped[];
  notes?: string[];
}

export interface Field {
  name: string; // a path where fields are nested: "kv.energy_rank"
  type: string;
  unit?: string | null;
  heading?: string | null;
  meaning: string;
  where?: string | null;
}

export interface Token {
  id: number;
  text: string | null; // null without a tokenizer
}

/** One head's map on the text. `at` counts bytes of the block of maps. */
export interface MapPlace {
  model: string;
  layer: number;
  head: number;
  tokens: number; // T
  causal: boolean; // with side = T: only the triangle, row by row
  side: number; // T: the full map; less: a max-pooled square thumbnail
  at: number;
}

/**
 * Means of a raw matrix over a grid of `rows` × `cols` blocks, row by row: a byte each of the block of maps from `at`,
 * 1 for -limit to 255 for +limit, 128 for 0.
 */
export interface MatrixImage {
  model: string;
  layer: number;
  matrix: Matrix;
  shape: [number, number];
  rows: number;
  cols: number;
  at: number;
  limit: number; // the largest of them, without its sign
}

/** The cosines between the rows of one head; their diagonal is left at 0. */
export interface CosineImage extends Omit<MatrixImage, "shape"> {
  head: number;
}

/** What the report lacks of a model, and why. */
export interface LeftOut {
  part: string; // the id of the entry that would hold it, "maps" or "matrices"
  model: string;
  why: string;
  command: string | null; // brings it; null: none does
}

export interface ReportFile {
  schema: "attnscope-report/1";
  version: string;
  created: string; // ISO 8601, UTC
  seconds: number;
  command: string;
  thresholds: number[];
  models: Model[];
  reports: Analysis[];
  fields: Readonly<Record<string, Field[]>>; // by kind of rows
  left_out: LeftOut[];
  texts: { model: string; tokens: Token[] }[];
  maps: MapPlace[];
  matrices: MatrixImage[];
  cosines: CosineImage[];
}
