// Types of a report file (schema "attnscope-report/1"), as the program writes it. Any analysis may be missing; nothing else is checked.
// Rows are described in generated_rows.ts.
import type {
  AblateCumulativeRow,
  AblatePairsRow,
  AblatePatchingRow,
  AblatePathRow,
  AblatePromptsRow,
  AblateRow,
  AttentionRow,
  CircuitsRow,
  CompositionRow,
  DiffRow,
  ExpertsRow,
  HeadOverlapRow,
  InductionRow,
  LensGridRow,
  LensRow,
  MlaRow,
  ModelFacts,
  PlanPartRow,
  PlanRow,
  DirectionsRow,
  RoutingRow,
  SimilarityRow,
  Skipped,
  SpectrumRow,
  WeightsRow,
} from "./generated_rows";

export type {
  AblateCumulativeRow,
  AblatePairsRow,
  AblatePatchingRow,
  AblatePathRow,
  AblatePromptsRow,
  AblateRow,
  CircuitsRow,
  CompositionRow,
  DiffRow,
  ExpertsRow,
  HeadOverlapRow,
  InductionRow,
  LensGridRow,
  LensRow,
  MlaRow,
  PlanPartRow,
  PlanRow,
  DirectionsRow,
  RoutingRow,
  SimilarityRow,
  Skipped,
  SpectrumRow,
  WeightsRow,
} from "./generated_rows";

export type Matrix = SpectrumRow["matrix"];

/** The query side, or keys and values together. */
export type MlaSide = NonNullable<MlaRow["kv"]>;

export type Histogram = NonNullable<WeightsRow["histogram"]>;

/** Rows with `head` null describe a whole layer and have other fields. */
export type AttentionHeadRow = AttentionRow & { head: number };
export type AttentionLayerRow = AttentionRow & { head: null };

/** A model. Info that comes from weights is null for a live model of which only attention maps are known. */
export type AnyModel = ModelFacts & {
  reads?: "texts" | "images" | "sound";
  pairs?: boolean; // served pages only: it takes pairs of texts
};

/** A model with weights, so that all info from weights is present. Rows about weights exist only for such models. */
export type Model = AnyModel & { [Fact in FactOfWeights]: NonNullable<ModelFacts[Fact]> };
type FactOfWeights = "parameters" | "attention_parameters" | "kv_heads" | "head_dim" | "hidden_size" | "dtype" | "bytes" | "rotary";

/** The row type of each analysis, by the id it has in a report. */
export interface RowsOf {
  spectrum: SpectrumRow;
  mla: MlaRow;
  weights: WeightsRow;
  similarity: SimilarityRow;
  overlap: HeadOverlapRow;
  circuits: CircuitsRow;
  composition: CompositionRow;
  attention: AttentionHeadRow | AttentionLayerRow;
  attention_excluding_first: AttentionHeadRow | AttentionLayerRow;
  induction: InductionRow;
  experts: ExpertsRow;
  expert_spectra: SpectrumRow;
  routing: RoutingRow;
  directions: DirectionsRow;
  lens: LensRow;
  lens_grid: LensGridRow;
  ablate: AblateRow;
  ablate_pairs: AblatePairsRow;
  ablate_cumulative: AblateCumulativeRow;
  ablate_prompts: AblatePromptsRow;
  ablate_patching: AblatePatchingRow;
  ablate_path: AblatePathRow;
  plan: PlanRow;
  plan_layers: PlanPartRow;
  plan_ranks: PlanPartRow;
  diff: DiffRow;
}

export type AnalysisId = keyof RowsOf;

export interface Analysis<Row = unknown> {
  id: AnalysisId;
  model: string; // a report has one entry per analysis and model
  again: string | null; // command that reproduces these rows; null: none does
  command: string;
  parameters: Readonly<Record<string, unknown>>;
  rows: Row[];
  skipped: Skipped[];
  notes?: string[];
}

export interface Field {
  name: string; // a path for nested fields: "kv.energy_rank"
  type: string;
  unit?: string | null;
  heading?: string | null;
  meaning: string;
  words?: string; // flags only: meaning as part of a sentence
  where?: string | null;
}

export interface Token {
  id: number;
  text: string | null; // null without a tokenizer
}

/** The tokens of the maps. */
export interface ShownText {
  model: string;
  tokens: Token[];
  source?: Token[]; // keys of cross-attention maps
  pair_texts?: number[]; // of a pair of texts: 0 for tokens of text A, 1 for text B
}

/** One head's attention map. `at`: byte offset in the maps block. */
export interface MapPlace {
  model: string;
  layer: number;
  head: number;
  tokens: number; // T: queries
  keys?: number; // S, if different from T
  causal: boolean; // with side = T: only the lower triangle is stored, in row-major order
  side: number; // rows. T: full map; fewer: max-pooled thumbnail
  key_side?: number; // columns, with `keys`: at most S
  at: number;
}

/** The image of the maps, as preprocessed for the model: RGB bytes in the maps block. */
export interface ImageInput {
  model: string;
  rows: number;
  cols: number;
  patch_rows: number; // patches cover the whole image
  patch_cols: number;
  names: string[]; // names of the tokens before the patch tokens
  at: number;
}

/** The audio of the maps: loudness of each frame, one byte each, in the maps block. */
export interface AudioInput {
  model: string;
  seconds: number;
  frames: number;
  at: number;
}

/**
 * Means of a raw matrix over `rows` × `cols` blocks in row-major order, one byte each in the maps block from `at`: 1 for -limit, 128 for 0,
 * 255 for +limit.
 */
export interface MatrixImage {
  model: string;
  layer: number;
  matrix: Matrix;
  shape: [number, number];
  rows: number;
  cols: number;
  at: number;
  limit: number; // largest absolute mean
}

/** Cosines between the rows of one head, with a diagonal of 0. */
export interface CosineImage extends Omit<MatrixImage, "shape"> {
  head: number;
}

/** A part that was skipped for a model, and why. */
export interface SkippedPart {
  part: string; // id of the missing entry, "maps" or "matrices"
  model: string;
  why: string;
  command: string | null; // command that adds it; null: none does
}

export interface ReportFile {
  schema: "attnscope-report/1";
  revision?: number; // served reports only: increases with every change
  version: string;
  created: string; // ISO 8601, UTC
  seconds: number;
  command: string;
  open?: string; // state of the page that opens first, as after "#" in its address
  thresholds: number[];
  models: Model[];
  reports: Analysis[];
  fields: Readonly<Record<string, Field[]>>; // by row kind
  skipped: SkippedPart[];
  texts: ShownText[];
  pictures: ImageInput[];
  sounds: AudioInput[];
  maps: MapPlace[];
  least_weight?: number; // smaller weights are stored as 0, to keep the file small
  matrices: MatrixImage[];
  cosines: CosineImage[];
}
