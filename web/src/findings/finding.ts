// What a sentence about a model is, and what several kinds of sentences share.
import { format_number } from "../chart/number_format";
import type { Spark } from "../chart/sparkline";
import { matrix_words, type Word, type Words } from "../chart/rich_text";
import type { AnyModel, Matrix } from "../data/report_file";
import type { Reading } from "../shaping/reading";
import type { Changes } from "../shaping/state";

export type KindName =
  | "attention_depth"
  | "collapsed"
  | "composition"
  | "copying"
  | "cross_attention"
  | "dead_experts"
  | "dead_heads"
  | "duplicate_heads"
  | "expert_twins"
  | "experts_one_space"
  | "fewest_directions"
  | "heavy_tails"
  | "identity_part"
  | "induction"
  | "latent"
  | "massive_activations"
  | "matters"
  | "matrix_like_random"
  | "model_like_random"
  | "needed_layer"
  | "outlier_dimensions"
  | "previous_token"
  | "raises"
  | "shared_space"
  | "sink"
  | "small_adapter"
  | "smaller_model"
  | "symmetric"
  | "weights_depth"
  | "zero_heads"
  | "zero_matrices";

export interface Finding {
  kind: KindName;
  figure: string; // large: "141 of 384"
  unit: string; // beside it: "directions"
  words: Words; // the sentence that continues the figure, with its null or chance value
  spark?: Spark; // over layers
  distance: number; // from the null, 0, to the most that the measure can be, 1
  effect?: number; // in nats, of what was measured to change predictions on the text: see all_findings.ts
  see: { view: string; state: Changes }; // where it is to be seen
}

/** What a kind of sentence claims, and what was done to refute it: a row of docs/findings.md, which tests/unit holds to this. */
export interface Claim {
  sentence: string;
  guard: string; // when it is said
  chance: string; // what it is held against
  experiment: string; // what would refute it
  result: string; // what that gave
}

/** Says what it has to say of a model, or nothing where the numbers do not carry it. */
export type Kind = (reading: Reading) => Finding | undefined;

/** A matrix within a sentence. */
export function matrix_name(matrix: Matrix): Word[] {
  if (matrix === "qk" || matrix === "ov") return [`the ${matrix.toUpperCase()} circuit`];
  if (matrix === "kv") return ["K and V together"];
  const words = matrix_words(matrix);
  return typeof words === "string" ? [`the MLP's ${words}`] : [...words];
}

/** Of constants in claims. */
export const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** A share that is said to be reached, so never rounded up. */
export const at_least_percent = (share: number): string => `${Math.floor(share * 100 + 1e-9)}\u202f%`;

/** A share that is said not to be passed, so never rounded down. */
export const at_most_percent = (share: number): string => `${Math.ceil(share * 1000 - 1e-9) / 10}\u202f%`;

/** A small chance value: two digits that say something, so that it is never said to be 0. */
export const small_percent = (share: number): string =>
  share >= 0.1 ? format_number(share, "percent") : `${Number((share * 100).toPrecision(share < 0.01 ? 1 : 2))}\u202f%`;

/** Three figures, and whole numbers from a hundred on. */
export const figure = (value: number): string =>
  format_number(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)), "tick");

/** 0 at the null, 1 at the most that the measure can be. */
export const between = (from: number, value: number, most: number): number => (most === from ? 0 : (value - from) / (most - from));

/** Shorter texts leave attention too few places for a sentence about it. */
export const kShortestText = 16;

/**
 * Whether a head's output can raise the logit of the token that it reads: not without an output head over tokens, and not if attention
 * reads images, sound or another text.
 */
export const has_token_logits = ({ model }: Reading): boolean => {
  const { reads = "texts", stack, tied_embedding } = model as AnyModel;
  return tied_embedding !== null && stack !== "cross" && (reads === "texts" || stack === "decoder");
};

export const reads_one_way = ({ model }: Reading): boolean => model.causal !== false;
