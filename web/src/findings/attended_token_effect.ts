// Heads whose direct effect raises or lowers the logits of the tokens they attend to, measured on the text.
import { format_number } from "../chart/number_format";
import type { Word } from "../chart/rich_text";
import { rows_of } from "../data/report";
import type { AblateRow } from "../data/report_file";
import { attention_heads } from "../shaping/head_grid";
import { text_length } from "../shaping/texts";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, type Kind, kShortestText } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

/** Logits. A smaller effect changes a probability by less than about 10%. */
const kLeast = 0.1;
/** Effect that counts as the maximum: e³ makes a token 20 times as likely. */
const kMost = 3;

/** The effect of ablating the head on the loss. Effects within 2 standard errors are reported as no change. */
function effect_words({ loss_increase: value, loss_increase_error: error }: AblateRow): Word[] {
  if (error !== null && Math.abs(value) <= 2 * error) return [" Ablating it does not change the loss (within 2 standard errors)."];
  return [` Ablating it ${value < 0 ? "lowers" : "raises"} the loss by `, strong(Math.abs(value).toFixed(3)), " nats."];
}

/** Two decimals (0.07), or one significant digit below 0.005, so that it is never shown as 0.00. */
const error_words = (error: number): string => format_number(error, error < 0.005 ? ".1r" : ".2f");

export const claim: Claim = {
  sentence: "`… heads raise (lower) the logits of the tokens they attend to`",
  guard: `The effect is at least ${kLeast} logits, exceeded by more than 2 standard errors over sequences. Not shown for a single sequence`,
  chance: "the mean over the text's tokens: a head that raises the logits of all these tokens equally has effect 0",
  experiment: "the same effect with PyTorch hooks; random models; planted heads that copy, suppress or do nothing; ablation of the heads",
  result:
    "PyTorch: equal to within 10⁻⁵. Random models: not shown. Planted heads: the correct finding for heads that copy or suppress, none " +
    "for heads that do nothing. Rank correlation of the effect with the loss increase under ablation: 0.66 (gpt2), 0.87 (llama)",
};

export const attended_token_effect: Kind = (reading) => {
  const { report, model } = reading;
  const rows = attention_heads(report, model.name).filter((row) => typeof row.attended_token_effect === "number");
  // A single sequence has no standard error, so no finding is shown.
  const known = rows.filter((row) => row.attended_token_effect_error !== null);
  if (text_length(reading) < kShortestText) return undefined;
  const error = (row: (typeof rows)[number]) => row.attended_token_effect_error;
  const up = strongest_heads(known, kLeast, (row) => row.attended_token_effect, error);
  const down = strongest_heads(
    known,
    kLeast,
    (row) => (typeof row.attended_token_effect === "number" ? -row.attended_token_effect : null),
    error,
  );
  const raises = (up?.most ?? 0) >= (down?.most ?? 0);
  const found = raises ? up : down;
  if (!found) return undefined;
  const { best, most } = found;
  const opposite = (raises ? down?.count : up?.count) ?? 0;
  const ablated = rows_of(report, "ablate", model.name).find((row) => row.layer === best.layer && row.head === best.head);
  const sign = raises ? 1 : -1;
  return {
    kind: "attended_token_effect",
    ...head_count(
      found,
      `${raises ? "raises" : "lowers"} the logits of the tokens it attends to`,
      `${raises ? "raise" : "lower"} the logits of the tokens they attend to`,
    ),
    words: [
      `Direct effect on the attended token's logit: ${raises ? "at least" : "at most"} ` +
        `${format_number(sign * kLeast, "+.2f")}, relative to ` +
        "the mean over the text's tokens. Strongest: ",
      ...head_words(best),
      ", ",
      strong(format_number(sign * most, "+.2f")),
      ` ±${error_words(best.attended_token_effect_error ?? 0)}.`,
      ...(ablated ? effect_words(ablated) : []),
      opposite > 0 ? ` ${opposite} ${opposite === 1 ? "head has" : "heads have"} the opposite effect.` : "",
    ],
    spark: head_spark(
      model.layers,
      rows,
      (row) => (typeof row.attended_token_effect === "number" ? sign * row.attended_token_effect : null),
      () => 0,
      { role: "ov" },
    ),
    distance: Math.min(1, between(0, most, kMost)),
    effect: most,
    see: { view: "ablation", state: { l: best.layer, h: best.head } },
  };
};
