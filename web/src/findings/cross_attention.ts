// What cross-attention does for the targets: the layer whose ablation changes their loss most. Silent if the model predicts no better than
// chance: parts of random weights move its loss up as well as down, by chance.
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
  sentence: "`±… nats of loss on the targets … when the cross-attention of layer … is ablated`",
  guard:
    `effect of ${kLeast} nats, up or down, and beyond what the largest of so many layers reaches by chance, √(2 ln n) + 1 standard ` +
    "errors over pairs; the model's loss is below ln V; said of the cross-attention of encoder-decoders only",
  chance: "attention that does not tell one source from another: 0. Ablated, each head gives its mean over the text",
  experiment: "it is one: the same with PyTorch hooks in float64; a T5 of random weights; a T5 trained to copy its source",
  result: "equal to 10⁻⁵; silent; said, and silent again of the same model on targets that have nothing to do with their sources",
};

/** Beyond two standard errors: of how many heads the loss depends on what they bring from the source, and which matters most. */
function heads_words(heads: readonly (Row & { head: number })[]): Word[] {
  const beyond = heads.filter((row) => Math.abs(row.loss_increase) > 2 * row.loss_increase_error);
  const best = largest(beyond, (row) => Math.abs(row.loss_increase))?.row;
  if (!best) return heads.length > 0 ? [` No single head of ${heads.length} changes it beyond two standard errors.`] : [];
  return [
    " Beyond two standard errors, ",
    strong(beyond.length),
    ` of ${heads.length} cross-attention heads ${beyond.length === 1 ? "changes" : "change"} it, most `,
    ...head_words(best),
    `: ${signed(best.loss_increase)} ±${error_words(best)}.`,
  ];
}

const digits_of = (value: number): number => (Math.abs(value) < 0.1 ? 3 : 2);
const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits_of(value))}`;
const error_words = (row: Row): string => row.loss_increase_error.toFixed(digits_of(row.loss_increase));

/** How many source tokens its sharpest head attends to: e to the entropy. Uniform attention gives each key what it gives key 0. */
function sharpest_words(rows: readonly AttentionHeadRow[]): Word[] {
  const sharpest = largest(rows, (row) => (typeof row.entropy === "number" ? -row.entropy : null))?.row;
  const uniform = sharpest?.uniform_sink_mass;
  if (typeof sharpest?.entropy !== "number" || typeof uniform !== "number" || uniform <= 0) return [];
  return [
    " The sharpest head, ",
    ...head_words(sharpest),
    ", attends to the equivalent of ",
    strong(format_number(Math.exp(sharpest.entropy), ".2~r")),
    " source tokens (uniform attention: about ",
    strong(format_number(1 / uniform, ".2~r")),
    ").",
  ];
}

export const cross_attention: Kind = ({ report, model }) => {
  const stacks = stacks_of(report.file.models, model);
  const reads_source = stacks.some(({ model: each, stack }) => each.name === model.name && stack !== "encoder");
  const across = reads_source ? stacks.find(({ stack }) => stack === "cross") : undefined;
  if (!across) return undefined;
  const { name, vocabulary } = across.model;
  const rows = rows_of(report, "ablate", name).filter((row): row is Row => row.loss_increase_error !== null);
  const layers = rows.filter((row) => row.component === "attention");
  const clear = layers.filter(
    (row) => Math.abs(row.loss_increase) >= Math.max(kLeast, chance_errors(layers.length) * row.loss_increase_error),
  );
  const best = largest(clear, (row) => Math.abs(row.loss_increase))?.row;
  const tokens = vocabulary ?? model.vocabulary;
  if (!best || !tokens || best.loss >= Math.log(tokens)) return undefined;
  const value = best.loss_increase;
  const heads = rows.filter((row): row is Row & { head: number } => row.component === "head" && row.head !== null);
  return {
    kind: "cross_attention",
    figure: signed(value),
    unit: "nats",
    words: [
      "of loss on the targets (",
      strong(best.loss.toFixed(2)),
      " → ",
      strong((best.loss + value).toFixed(2)),
      ") when the cross-attention of layer ",
      strong(best.layer),
      ` is ablated (±${error_words(best)}), the largest effect of its ${layers.length} layers.`,
      value < 0 ? " The loss falls without it." : "",
      ...heads_words(heads),
      ...sharpest_words(attention_heads(report, name)),
    ],
    spark: { values: largest_by_layer(across.model.layers, layers, (row) => row.loss_increase), null_values: 0, colour: "accent" },
    distance: Math.min(1, Math.abs(value) / best.loss),
    effect: Math.abs(value),
    see: { view: "matters", state: { m: String(across.index), l: best.layer, h: null } },
  };
};
