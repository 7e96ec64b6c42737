// Heads with a mostly positive or mostly negative OV circuit, from the weights alone. On text, such heads raise the attended token's logit
// about as often as they lower it. If the effect was measured on a text (attended_token_effect.ts), this finding is not shown.
import { format_number } from "../chart/number_format";
import { at_threshold, rows_of } from "../data/report";
import { distinct } from "../data/shared_weights";
import { attention_heads } from "../shaping/head_grid";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, has_token_logits, type Kind } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

/**
 * Upper limit for copying scores of random heads. The product in reverse order has entries with variance D. Its trace has standard
 * deviation sqrt(d D), and its d eigenvalues fill a disk of radius sqrt(d D), so the score has standard deviation 1.5 / d. The largest of n
 * scores is about sqrt(2 ln n) standard deviations.
 */
export const copying_noise = (head_dim: number, heads: number): number =>
  (1.5 / head_dim) * (Math.sqrt(2 * Math.log(Math.max(2, heads))) + 1);

const kLeast = 0.5;
const kTimesNoise = 1.2;

export const claim: Claim = {
  sentence: "`… heads have a mostly positive (negative) OV circuit`",
  guard:
    `The score is above ${kLeast} or below −${kLeast}. Its magnitude exceeds ${kTimesNoise} times the largest score among as many random ` +
    "heads of the same rank as the model has heads. Not shown if the effect was measured on a text. Not shown for models without logits " +
    "of the attended token: encoders without an LM head, images, audio, cross-attention",
  chance:
    "copying scores of random heads: standard deviation 1.5 / d for head dimension d, and the largest score among as many random heads " +
    "as the model has heads",
  experiment: "the heads' direct effect on the logits of attended tokens, on held-out text",
  result:
    "The experiment refutes a claim about text. 30 heads of gpt2 have a score below −0.5. Of these, 11 lower the attended token's logit " +
    "and 14 raise it, each by more than 2 standard errors. The finding therefore says `would`. If there is a text, *attended token " +
    "effect* replaces it",
};

export const copying_heads: Kind = (reading) => {
  const { report, model, threshold } = reading;
  if (!has_token_logits(reading)) return undefined;
  if (attention_heads(report, model.name).some((row) => typeof row.attended_token_effect === "number")) return undefined;
  const rows = rows_of(report, "circuits", model.name).filter((row) => row.circuit === "ov" && row.head !== null);
  const heads = distinct(model, rows);
  const noise = copying_noise(model.head_dim, heads.length);
  const cut = Math.max(kLeast, kTimesNoise * noise);
  if (cut >= 1) return undefined;
  // A low-rank circuit has few large eigenvalues, which can have the same sign by chance.
  const score = (row: (typeof heads)[number]) => {
    const by_chance = copying_noise(at_threshold(row.energy_rank, threshold) ?? model.head_dim, heads.length);
    return row.copying_score !== null && Math.abs(row.copying_score) < kTimesNoise * by_chance ? 0 : row.copying_score;
  };
  const positive = strongest_heads(heads, cut, score);
  const negative = strongest_heads(heads, cut, (row) => {
    const value = score(row);
    return value === null ? null : -value;
  });
  const [sign, found, opposite] =
    (positive?.count ?? 0) >= (negative?.count ?? 0) ? [1, positive, negative?.count ?? 0] : [-1, negative, positive?.count ?? 0];
  if (!found) return undefined;
  const { best, most, count } = found;
  const [word, other] = sign > 0 ? ["positive", "negative"] : ["negative", "positive"];
  return {
    kind: "copying_heads",
    ...head_count(found, `has a mostly ${word} OV circuit`, `have a mostly ${word} OV circuit`),
    words: [
      `Copying score ${sign > 0 ? "above" : "below"} ${format_number(sign * cut, ".2~f")}. Strongest: `,
      ...head_words(best),
      ", ",
      strong(format_number(sign * most, "+.2f")),
      " (random: ±",
      strong(format_number(noise, ".2f")),
      `). ${opposite > 0 ? `${opposite} ${opposite === 1 ? "head is" : "heads are"} mostly ${other}. ` : ""}On raw embeddings, ` +
        `${count === 1 ? "it" : "they"} would ${sign > 0 ? "raise" : "lower"} the attended token's logit. Run with a text (--text) to ` +
        "measure the real effect.",
    ],
    spark: head_spark(
      model.layers,
      rows,
      (row) => (row.copying_score === null ? null : sign * row.copying_score),
      () => 0,
      { role: "ov" },
    ),
    distance: between(noise, most, 1),
    see: { view: "heads", state: { l: best.layer, h: best.head } },
  };
};
