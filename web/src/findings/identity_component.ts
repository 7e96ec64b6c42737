// A layer whose heads together score what is like the query above the rest, or below. Scores, not looks: norms, positions and the softmax
// come between.
import { format_number } from "../chart/number_format";
import { largest } from "../data/numbers";
import { rows_of } from "../data/report";
import { rotary_words } from "../shaping/rotary";
import { strong } from "../shaping/shared_words";
import { between, type Claim, type Kind } from "./finding";

const kLeast = 0.2;

export const claim: Claim = {
  sentence: "`keys like the query score above (below) the others, before norms, positions and the softmax`",
  guard: `cosine above ${kLeast} and twice chance`,
  chance: "random numbers: 4 / D",
  experiment: "on text, correlation of scores with how alike the normed states are",
  result:
    "holds: .35 to .57 by layer in gpt2; in llama .50 in layer 0, which the sentence names, and −.06 to .32 beyond, of " +
    "which it says nothing",
};

export const identity_component: Kind = (reading) => {
  const { report, model } = reading;
  const rows = rows_of(report, "circuits", model.name).filter((row) => row.circuit === "qk" && row.head === null);
  const best = largest(rows, (row) => row.identity_cosine && Math.abs(row.identity_cosine))?.row;
  // Of random factors the cosine has the deviation 1/D, the largest of a few layers hardly thrice that.
  const noise = 4 / model.width;
  const [cosine, bound] = [best?.identity_cosine ?? null, best?.identity_cosine_bound ?? null];
  if (!best || cosine === null || bound === null || Math.abs(cosine) < Math.max(kLeast, 2 * noise)) return undefined;
  return {
    kind: "identity_part",
    figure: format_number(cosine, "+.2f"),
    unit: "cosine with the identity",
    words: [
      "is what W",
      { sub: "Q" },
      "ᵀW",
      { sub: "K" },
      " of layer ",
      strong(best.layer),
      ` has, summed over heads${rotary_words(reading)}: keys like the query score `,
      strong(cosine > 0 ? "above" : "below"),
      " the others, before norms, positions and the softmax. Random numbers stay within ±",
      strong(format_number(noise, noise < 0.01 ? ".3f" : ".2f")),
      `; the most there can be is ${format_number(bound, ".2~f")}.`,
    ],
    spark: {
      values: Array.from({ length: model.layers }, (_, layer) => rows.find((row) => row.layer === layer)?.identity_cosine ?? null),
      null_values: 0,
      colour: { role: "qk" },
    },
    distance: between(noise, Math.abs(cosine), bound),
    see: { view: "heads", state: { l: best.layer, h: null } },
  };
};
