// Heads with a symmetric QK circuit: two tokens score each other similarly.
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
  sentence: "`… heads have a symmetric QK circuit`",
  guard: `The symmetry is above ${kLeast} and above ${kTimesNoise} times the baseline`,
  chance: "random heads: symmetry up to 5 √2 / D for hidden size D",
  experiment:
    "random models; planted heads with equal query and key weights. On text: the correlation, over heads, of the symmetry of the QK " +
    "circuit with corr(s_ij, s_ji), for attention scores s",
  result:
    "random models: not shown. Planted heads: found. Correlation: 0.71 (gpt2), 0.67 (llama). RoPE models: the symmetry is computed at " +
    "offset 0, as the finding states",
};

export const symmetric_heads: Kind = (reading) => {
  const { report, model } = reading;
  const rows = rows_of(report, "circuits", model.name).filter((row) => row.circuit === "qk" && row.head !== null);
  const symmetry = (row: (typeof rows)[number]) => row.symmetry;
  // For random factors, tr(M M) / |M|² has mean 1/D and standard deviation sqrt(2) / D.
  const noise = 5 * (Math.SQRT2 / model.hidden_size);
  const cut = Math.max(kLeast, kTimesNoise * noise);
  const found = cut < 1 ? strongest_heads(distinct(model, rows), cut, symmetry) : undefined;
  if (!found) return undefined;
  const { best, most } = found;
  const positive = (best.positive_fraction ?? 0) >= 0.9;
  return {
    kind: "symmetric_heads",
    ...head_count(found, "has a symmetric QK circuit", "have a symmetric QK circuit"),
    words: [
      "Two tokens score each other similarly under W",
      { sub: "Q" },
      "ᵀW",
      { sub: "K" },
      `${rotary_words(reading)}: symmetry above ${format_number(cut, ".2~f")}. Strongest: `,
      ...head_words(best),
      ", ",
      strong(format_number(most, "+.2f")),
      " (random: ±",
      strong(format_number(noise, ".2f")),
      ").",
      positive ? " Its symmetric part is nearly positive semidefinite: scores are close to inner products of projected tokens." : "",
    ],
    spark: head_spark(model.layers, rows, symmetry, () => 0, { role: "qk" }),
    distance: between(noise, most, 1),
    see: { view: "heads", state: { l: best.layer, h: best.head } },
  };
};
