// What a report holds: the schema "attnscope-report/1". The binary writes it; nothing here is checked again, except that
// any analysis may be missing. Rows are described in generated_rows.ts.
import type {
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
  ReadRow,
  RoutingRow,
  SimilarityRow,
  Skipped,
  SpectrumRow,
  WeightsRow,
} from "./generated_rows";

export type {
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
  ReadRow,
  RoutingRow,
  SimilarityRow,
  Skipped,
  SpectrumRow,
  WeightsRow,
} from "./generated_rows";

export type Matrix = SpectrumRow["matrix"];

/** Of queries, or of keys and values together. */
export type MlaSide = NonNullable<MlaRow["kv"]>;

export type Histogram = NonNullable<WeightsRow["histogram"]>;

/** Of a layer as a whole where `head` is null, and then with other fields. */
export type AttentionHeadRow = AttentionRow & { head: number };
export type AttentionLayerRow = AttentionRow & { head: null };

/** Of a live model whose maps alone are known, facts that weights say are null. */
export type AnyModel = ModelFacts & { reads?: "texts" | "images" | "sound" };

/** Of a model whose weights were read. What looks at its weights' facts has rows of them to say something of. */
export type Model = AnyModel & { [Fact in FactOfWeights]: NonNullable<ModelFacts[Fact]> };
type FactOfWeights = "parameters" | "attention_parameters" | "kv_heads" | "head_dim" | "width" | "dtype" | "bytes" | "rotary";

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
  read: ReadRow;
  lens: LensRow;
  lens_grid: LensGridRow;
  ablate: AblateRow;
  plan: PlanRow;
  plan_layers: PlanPartRow;
  plan_ranks: PlanPartRow;
  diff: DiffRow;
}

export type AnalysisId = keyof RowsOf;

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
  words?: string; // of a flag: what it says, within a sentence
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
  tokens: number; // T: queries
  keys?: number; // S, where it is another number
  causal: boolean; // with side = T: only the triangle, row by row
  side: number; // rows. T: the full map; less: a max-pooled thumbnail
  key_side?: number; // columns, with `keys`: S, or less
  at: number;
}

/** The image that maps are of, as the model read it: red, green and blue of each pixel, in the block of maps. */
export interface ImageInput {
  model: string;
  rows: number;
  cols: number;
  patch_rows: number; // patches cover it all
  patch_cols: number;
  names: string[]; // of the tokens before those of patches
  at: number;
}

/** The sound that maps are of: how loud each frame is, a byte each in the block of maps. */
export interface AudioInput {
  model: string;
  seconds: number;
  frames: number;
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
  revision?: number; // of a served report: it grows with every change
  version: string;
  created: string; // ISO 8601, UTC
  seconds: number;
  command: string;
  thresholds: number[];
  models: Model[];
  reports: Analysis[];
  fields: Readonly<Record<string, Field[]>>; // by kind of rows
  skipped: LeftOut[];
  texts: { model: string; tokens: Token[]; source?: Token[] }[]; // `source`: keys of maps across two texts
  pictures: ImageInput[];
  sounds: AudioInput[];
  maps: MapPlace[];
  matrices: MatrixImage[];
  cosines: CosineImage[];
}
