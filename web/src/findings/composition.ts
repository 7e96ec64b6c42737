// Two heads, one of a later layer, whose weights align.
import { largest } from "../data/numbers";
import { rows_of } from "../data/report";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, figure, type Kind } from "./finding";

const kLeast = 0.25;
const kTimesChance = 3;

export const claim: Claim = {
  sentence: "`of any two heads their weights align most`",
  guard: `score above ${kLeast} and ${kTimesChance} times chance`,
  chance: "random heads",
  experiment: "what the earlier head writes, less its mean, taken out of what the later one reads as keys",
  result:
    "refuted as `depends on`: the pair with the highest K score is the 233rd of 540 (gpt2) and the 83rd of 540 (llama) " +
    "by how far the later head's map moves. So it says `align`; `ablate --induction --receiver` tries it",
};

export const composition: Kind = ({ report, model }) => {
  const found = largest(rows_of(report, "composition", model.name), (row) => row.score);
  if (!found || found.row.excess === null) return undefined;
  const { row: best, value: score } = found;
  const chance = score - found.row.excess;
  if (score < Math.max(kLeast, kTimesChance * chance)) return undefined;
  return {
    kind: "composition",
    figure: figure(score),
    unit: `${best.kind.toUpperCase()}-composition`,
    words: [
      "of ",
      ...head_words(best),
      " with ",
      ...head_words({ layer: best.receiver_layer, head: best.receiver_head }),
      `: of any two heads their weights align most, the later one's ${{ q: "queries", k: "keys", v: "values" }[best.kind]} with ` +
        "what the earlier one writes. Whether they depend on it the weights alone do not tell. Random heads have ",
      strong(figure(Number(chance.toPrecision(2)))),
      ".",
    ],
    distance: between(chance, score, 1),
    see: { view: "heads", state: { l: best.receiver_layer, h: best.receiver_head, pairs: "head" } },
  };
};
