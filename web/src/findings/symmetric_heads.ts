// Heads whose QK circuit scores two tokens alike both ways.
import { format_number } from "../chart/number_format";
import { rows_of } from "../data/report";
import { distinct } from "../data/shared_weights";
import { rotary_words } from "../shaping/rotary";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, type Kind } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

const kLeast = 0.5;
const kTimesNoise = 1.5;

export const claim: Claim = {
  sentence: "`W_QᵀW_K scores two tokens alike both ways`",
  guard: `above ${kLeast} and ${kTimesNoise} times chance`,
  chance: "random heads: 5 √2 / D",
  experiment: "random models; heads of equal queries and keys; on text, correlation of s_ij with s_ji, over heads",
  result: "silent; found; .71 gpt2, .67 llama (rotary models: at offset 0, which it says)",
};

export const symmetric_heads: Kind = (reading) => {
  const { report, model } = reading;
  const rows = rows_of(report, "circuits", model.name).filter((row) => row.circuit === "qk" && row.head !== null);
  const symmetry = (row: (typeof rows)[number]) => row.symmetry;
  // Of random factors tr(M M) / |M|² has the mean 1/D and the deviation sqrt(2) / D.
  const noise = 5 * (Math.SQRT2 / model.width);
  const cut = Math.max(kLeast, kTimesNoise * noise);
  const found = cut < 1 ? strongest_heads(distinct(model, rows), cut, symmetry) : undefined;
  if (!found) return undefined;
  const { best, most } = found;
  const positive = (best.positive_fraction ?? 0) >= 0.9;
  return {
    kind: "symmetric",
    ...head_count(found, "is symmetric", "are symmetric"),
    words: [
      `${found.count === 1 ? "Its" : "Their"} W`,
      { sub: "Q" },
      "ᵀW",
      { sub: "K" },
      `${rotary_words(reading)} scores two tokens alike both ways (symmetry above ${format_number(cut, ".2~f")}), clearest in `,
      ...head_words(best),
      " with ",
      strong(format_number(most, "+.2f")),
      positive ? " and nearly all of it positive, as scores of a projection of the tokens with itself" : "",
      ". Random heads stay within ±",
      strong(format_number(noise, ".2f")),
      ".",
    ],
    spark: head_spark(model.layers, rows, symmetry, () => 0, { role: "qk" }),
    distance: between(noise, most, 1),
    see: { view: "heads", state: { l: best.layer, h: best.head } },
  };
};
