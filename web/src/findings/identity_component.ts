// A layer whose summed QK circuit has a large cosine with the identity: keys similar to the query get higher (or lower) scores. Attention
// may differ, because norms, positions and softmax are not included.
import { format_number } from "../chart/number_format";
import { largest } from "../data/numbers";
import { rows_of } from "../data/report";
import { rotary_words } from "../shaping/rotary";
import { strong } from "../shaping/shared_words";
import { between, type Claim, type Kind } from "./finding";

const kLeast = 0.2;

export const claim: Claim = {
  sentence: "`keys similar to the query get higher (lower) scores, before norms, positions and softmax`",
  guard: `The magnitude of the cosine with the identity is above ${kLeast} and above twice the baseline`,
  chance: "random matrices: magnitude of the cosine up to 4 / D for hidden size D",
  experiment: "on text, the correlation of attention scores with the cosine similarity of the normalized hidden states",
  result:
    "confirmed. The correlation is 0.35 to 0.57 per layer in gpt2. In llama it is 0.50 in layer 0, which the finding names. It is −0.06 " +
    "to 0.32 in the other layers of llama, which the finding does not name",
};

export const identity_component: Kind = (reading) => {
  const { report, model } = reading;
  const rows = rows_of(report, "circuits", model.name).filter((row) => row.circuit === "qk" && row.head === null);
  const best = largest(rows, (row) => row.identity_cosine && Math.abs(row.identity_cosine))?.row;
  // For random factors the cosine has standard deviation 1/D; the largest of a few layers is rarely above 3/D.
  const noise = 4 / model.hidden_size;
  const [cosine, bound] = [best?.identity_cosine ?? null, best?.identity_cosine_bound ?? null];
  if (!best || cosine === null || bound === null || Math.abs(cosine) < Math.max(kLeast, 2 * noise)) return undefined;
  return {
    kind: "identity_component",
    figure: format_number(cosine, "+.2f"),
    unit: "cosine with the identity",
    words: [
      "W",
      { sub: "Q" },
      "ᵀW",
      { sub: "K" },
      " of layer ",
      strong(best.layer),
      `, summed over heads${rotary_words(reading)}: keys similar to the query get `,
      strong(cosine > 0 ? "higher" : "lower"),
      " scores, before norms, positions and softmax. Random matrices: within ±",
      strong(format_number(noise, noise < 0.01 ? ".3f" : ".2f")),
      `. Maximum possible: ${format_number(bound, ".2~f")}.`,
    ],
    spark: {
      values: Array.from({ length: model.layers }, (_, layer) => rows.find((row) => row.layer === layer)?.identity_cosine ?? null),
      null_values: 0,
      color: { role: "qk" },
    },
    distance: between(noise, Math.abs(cosine), bound),
    see: { view: "heads", state: { l: best.layer, h: null } },
  };
};
