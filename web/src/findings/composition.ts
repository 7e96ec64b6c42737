// The pair of heads with the highest composition score.
import { head_name } from "../chart/rich_text";
import { largest } from "../data/numbers";
import { rows_of } from "../data/report";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, figure, type Kind } from "./finding";

const kLeast = 0.25;
const kTimesChance = 3;

export const claim: Claim = {
  sentence: "`… the highest composition score of any pair of heads`",
  guard: `The score is above ${kLeast} and above ${kTimesChance} times the score of random heads`,
  chance: "random heads",
  experiment: "ablation of the direct path: the earlier head's output, minus its mean, is removed from the later head's key input",
  result:
    "The experiment refutes that the later head depends on the earlier one. Pairs were ranked by the change in the later head's " +
    "attention. The pair with the highest K score ranks 233rd of 540 (gpt2) and 83rd of 540 (llama). The finding therefore states only " +
    "that the weights are aligned. `ablate --induction --receiver` measures the dependence",
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
      ` with the ${{ q: "queries", k: "keys", v: "values" }[best.kind]} of `,
      ...head_words({ layer: best.receiver_layer, head: best.receiver_head }),
      ", the highest composition score of any pair of heads (random: ",
      strong(figure(Number(chance.toPrecision(2)))),
      "). The score uses only weights. To test the dependence, run ablate --induction --receiver ",
      head_name({ layer: best.receiver_layer, head: best.receiver_head }),
      ".",
    ],
    distance: between(chance, score, 1),
    see: { view: "heads", state: { l: best.receiver_layer, h: best.receiver_head, pairs: "head" } },
  };
};
