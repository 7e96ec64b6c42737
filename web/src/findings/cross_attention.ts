// The layer whose cross-attention has the largest effect on the target loss when ablated. Not shown if the model predicts no better than
// chance: ablating random components moves the loss both ways.
import { format_number } from "../chart/number_format";
import type { Word } from "../chart/rich_text";
import { largest, largest_by_layer } from "../data/numbers";
import { rows_of } from "../data/report";
import type { AblateRow, AttentionHeadRow } from "../data/report_file";
import { attention_heads } from "../shaping/head_grid";
import { stacks_of } from "../shaping/stacks";
import { strong, head_words } from "../shaping/shared_words";
import { type Claim, type Kind } from "./finding";
import { chance_errors } from "./important_head";

/** Nats. */
const kLeast = 0.01;

type Row = AblateRow & { loss_increase_error: number };

export const claim: Claim = {
  sentence: "`Ablating the cross-attention of layer … raises (lowers) the target loss`",
  guard:
    `Encoder-decoders only. The effect is at least ${kLeast} nats, up or down. It exceeds √(2 ln n) + 1 standard errors over pairs, ` +
    "about the largest effect of n layers by chance. The model's loss is below ln V (uniform prediction)",
  chance: "cross-attention that does not depend on the source: 0. The ablation replaces the output of each head by its mean over the text",
  experiment: "the same ablation with PyTorch hooks in float64; a T5 with random weights; a T5 trained to copy its source",
  result:
    "PyTorch: equal to within 10⁻⁵. Random T5: not shown. Trained T5: found, except if the target texts are unrelated to their sources",
};

/** How many heads have an effect beyond 2 standard errors, and which is largest. */
function heads_words(heads: readonly (Row & { head: number })[]): Word[] {
  const beyond = heads.filter((row) => Math.abs(row.loss_increase) > 2 * row.loss_increase_error);
  const best = largest(beyond, (row) => Math.abs(row.loss_increase))?.row;
  if (!best) return heads.length > 0 ? [` No single head has an effect beyond 2 standard errors (heads: ${heads.length}).`] : [];
  return [
    " ",
    strong(beyond.length),
    ` of ${heads.length} cross-attention heads ${beyond.length === 1 ? "has" : "have"} an effect beyond 2 standard errors. Largest: `,
    ...head_words(best),
    `, ${signed(best.loss_increase)} ±${error_words(best)}.`,
  ];
}

const digits_of = (value: number): number => (Math.abs(value) < 0.1 ? 3 : 2);
const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits_of(value))}`;
const error_words = (row: Row): string => row.loss_increase_error.toFixed(digits_of(row.loss_increase));

/** Effective number of source tokens (exp of the entropy) of the most focused head. Uniform attention puts the same weight on every key. */
function focus_words(rows: readonly AttentionHeadRow[]): Word[] {
  const focused = largest(rows, (row) => (typeof row.entropy === "number" ? -row.entropy : null))?.row;
  const uniform = focused?.uniform_sink_mass;
  if (typeof focused?.entropy !== "number" || typeof uniform !== "number" || uniform <= 0) return [];
  return [
    " Most focused: ",
    ...head_words(focused),
    " attends to an effective number of ",
    strong(format_number(Math.exp(focused.entropy), ".2~r")),
    " source tokens (uniform: about ",
    strong(format_number(1 / uniform, ".2~r")),
    ").",
  ];
}

export const cross_attention: Kind = ({ report, model }) => {
  const stacks = stacks_of(report.file.models, model);
  const reads_source = stacks.some(({ model: each, stack }) => each.name === model.name && stack !== "encoder");
  const across = reads_source ? stacks.find(({ stack }) => stack === "cross") : undefined;
  if (!across) return undefined;
  const { name, vocab_size } = across.model;
  const rows = rows_of(report, "ablate", name).filter((row): row is Row => row.loss_increase_error !== null);
  const layers = rows.filter((row) => row.component === "attention");
  const clear = layers.filter(
    (row) => Math.abs(row.loss_increase) >= Math.max(kLeast, chance_errors(layers.length) * row.loss_increase_error),
  );
  const best = largest(clear, (row) => Math.abs(row.loss_increase))?.row;
  const tokens = vocab_size ?? model.vocab_size;
  if (!best || !tokens || best.loss >= Math.log(tokens)) return undefined;
  const value = best.loss_increase;
  const heads = rows.filter((row): row is Row & { head: number } => row.component === "head" && row.head !== null);
  return {
    kind: "cross_attention",
    figure: signed(value),
    unit: "nats of target loss",
    words: [
      "Ablating the cross-attention of layer ",
      strong(best.layer),
      ` ${value < 0 ? "lowers" : "raises"} the target loss from `,
      strong(best.loss.toFixed(2)),
      " to ",
      strong((best.loss + value).toFixed(2)),
      ` (±${error_words(best)}), the largest effect of ${layers.length} layers.`,
      ...heads_words(heads),
      ...focus_words(attention_heads(report, name)),
    ],
    spark: { values: largest_by_layer(across.model.layers, layers, (row) => row.loss_increase), null_values: 0, color: "accent" },
    distance: Math.min(1, Math.abs(value) / best.loss),
    effect: Math.abs(value),
    see: { view: "ablation", state: { m: String(across.index), l: best.layer, h: null } },
  };
};
