// Heads whose OV circuit is mostly positive, or mostly negative. Of the weights alone: on text such heads raise the token they read about
// as often as they lower it. Where a text says what they do (attended_token_effect.ts), this says nothing.
import { format_number } from "../chart/number_format";
import { at_threshold, rows_of } from "../data/report";
import { distinct } from "../data/shared_weights";
import { attention_heads } from "../shaping/head_grid";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, has_token_logits, type Kind } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

/**
 * What copying scores of random heads hardly exceed. The product in the other order has entries of variance D: its trace has a deviation of
 * sqrt(d D), its d eigenvalues fill a disk of radius sqrt(d D), which gives 1.5 / d; the largest of n such scores lies near sqrt(2 ln n)
 * deviations.
 */
export const copying_noise = (head_dim: number, heads: number): number =>
  (1.5 / head_dim) * (Math.sqrt(2 * Math.log(Math.max(2, heads))) + 1);

const kLeast = 0.5;
const kTimesNoise = 1.2;

export const claim: Claim = {
  sentence: "`… heads have a mostly positive (negative) OV circuit … they would raise (lower) the token read`",
  guard:
    `score beyond ${kLeast} and ${kTimesNoise} times what random heads have, of all heads and of circuits of as few ` +
    "directions; silent where a text says what heads do, and of models without logits of the tokens read: encoders without an output " +
    "head, images, sound, cross-attention",
  chance: "random heads: 1.5 / d, and the largest of so many",
  experiment: "what the heads add on held-out text to the logits of the tokens that they read",
  result:
    "refuted as a claim about text: of 30 heads of gpt2 below −0.5, 11 lower the tokens they read and 14 raise them, " +
    "beyond two standard errors. So it says `would`, and yields to *raises*",
};

export const copying_heads: Kind = (reading) => {
  const { report, model, threshold } = reading;
  if (!has_token_logits(reading)) return undefined;
  if (attention_heads(report, model.name).some((row) => typeof row.raises === "number")) return undefined;
  const rows = rows_of(report, "circuits", model.name).filter((row) => row.circuit === "ov" && row.head !== null);
  const heads = distinct(model, rows);
  const noise = copying_noise(model.head_dim, heads.length);
  const cut = Math.max(kLeast, kTimesNoise * noise);
  if (cut >= 1) return undefined;
  // A circuit of few directions has few eigenvalues that weigh, whose signs chance makes alike.
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
    kind: "copying",
    ...head_count(found, `has a mostly ${word} OV circuit`, `have a mostly ${word} OV circuit`),
    words: [
      `Copying score ${sign > 0 ? "above" : "below"} ${format_number(sign * cut, ".2~f")}, clearest in `,
      ...head_words(best),
      " with ",
      strong(format_number(sign * most, "+.2f")),
      `. Against a residual stream of plain embeddings ${count === 1 ? "it" : "they"} would ${sign > 0 ? "raise" : "lower"} the ` +
        "token read; what happens on text the weights alone do not tell.",
      `${opposite > 0 ? ` ${opposite} ${opposite === 1 ? "is" : "are"} mostly ${other}.` : ""} Random heads stay within ±`,
      strong(format_number(noise, ".2f")),
      ".",
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
