// The type of a finding about a model, and helpers that several kinds of findings share.
import { format_number } from "../chart/number_format";
import type { Spark } from "../chart/sparkline";
import { matrix_words, type Word, type Words } from "../chart/rich_text";
import type { AnyModel, Matrix } from "../data/report_file";
import type { Reading } from "../shaping/reading";
import type { Changes } from "../shaping/state";

export type KindName =
  | "attention_rank_by_depth"
  | "collapsed_layers"
  | "composition"
  | "copying_heads"
  | "cross_attention"
  | "dead_experts"
  | "dead_heads"
  | "duplicate_heads"
  | "similar_experts"
  | "experts_shared_subspace"
  | "low_rank_matrix"
  | "heavy_tails"
  | "identity_component"
  | "induction_heads"
  | "kv_latent"
  | "massive_activations"
  | "important_head"
  | "matrix_like_random"
  | "model_like_random"
  | "critical_layer"
  | "outlier_dimensions"
  | "previous_token_heads"
  | "attended_token_effect"
  | "overlapping_heads"
  | "attention_sink_heads"
  | "small_adapter"
  | "compressed_model"
  | "symmetric_heads"
  | "weight_rank_by_depth"
  | "zero_heads"
  | "zero_matrices";

export interface Finding {
  kind: KindName;
  figure: string; // large: "141 of 384"
  unit: string; // after the figure: "directions"
  words: Words; // explains the figure and gives its baseline
  spark?: Spark; // value per layer
  distance: number; // 0: equal to the baseline, 1: the maximum of the measure
  effect?: number; // measured effect on predictions, in nats: see all_findings.ts
  see: { view: string; state: Changes }; // view that shows it
}

/** What a kind of finding claims and how it was tested: a row of docs/findings.md. A unit test compares the two. */
export interface Claim {
  sentence: string;
  guard: string; // condition under which it is shown
  chance: string; // baseline it is compared with
  experiment: string; // test that could refute it
  result: string; // outcome of that test
}

/** Returns the finding for a model, or undefined if its condition is not met. */
export type Kind = (reading: Reading) => Finding | undefined;

/** The name of a matrix within a sentence. */
export function matrix_name(matrix: Matrix): Word[] {
  if (matrix === "qk" || matrix === "ov") return [`the ${matrix.toUpperCase()} circuit`];
  if (matrix === "kv") return ["K and V together"];
  const words = matrix_words(matrix);
  if (typeof words !== "string") return [...words];
  return [`the ${matrix === "gate" || matrix === "up" || matrix === "down" ? "MLP " : ""}${words} matrix`];
}

/** For constants in claims. */
export const percent = (share: number): string => `${Math.round(100 * share)}%`;

/** Lower bound: never rounded up. */
export const at_least_percent = (share: number): string => `${Math.floor(share * 100 + 1e-9)}%`;

/** Upper bound: never rounded down. */
export const at_most_percent = (share: number): string => `${Math.ceil(share * 1000 - 1e-9) / 10}%`;

/** A small baseline value with one or two significant digits, so that it is never shown as 0. */
export const small_percent = (share: number): string =>
  share >= 0.1 ? format_number(share, "percent") : `${Number((share * 100).toPrecision(share < 0.01 ? 1 : 2))}%`;

/** Three significant digits; whole numbers from 100. */
export const figure = (value: number): string =>
  format_number(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)), "tick");

/** 0 at the baseline, 1 at the maximum of the measure. */
export const between = (from: number, value: number, most: number): number => (most === from ? 0 : (value - from) / (most - from));

/** Shortest text, in tokens, for findings about attention: shorter texts have too few positions. */
export const kShortestText = 16;

/**
 * Whether a head's output can affect the logit of the attended token. It cannot if the model has no LM head over tokens, or if attention is
 * on images, audio or another text.
 */
export const has_token_logits = ({ model }: Reading): boolean => {
  const { reads = "texts", stack, tied_embedding } = model as AnyModel;
  return tied_embedding !== null && stack !== "cross" && (reads === "texts" || stack === "decoder");
};

export const reads_one_way = ({ model }: Reading): boolean => model.causal !== false;
