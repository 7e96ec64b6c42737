// Two experts that are nearly the same, unlike the other experts of the layer.
import { rows_of } from "../data/report";
import { strong } from "../shaping/shared_words";
import { between, type Claim, figure, type Kind, matrix_name } from "./finding";

/** Smallest similarity of near-duplicate experts. */
const kTwins = 0.9;
/** Fewest experts among which a pair can stand out. */
const kFewest = 4;

export const claim: Claim = {
  sentence: "`… similarity between two experts`",
  guard:
    `The similarity is at least ${kTwins}. It is also at least halfway between 1 and the mean similarity over pairs. The layer has at ` +
    `least ${kFewest} experts`,
  chance: "random experts",
  experiment: "random models; a planted copy of an expert",
  result: "random models: not shown. Planted copy: found",
};

export const similar_experts: Kind = ({ report, model }) => {
  const found = rows_of(report, "experts", model.name).flatMap((row) => {
    const { mean_similarity: mean, most_similarity: most, random_similarity: random } = row;
    if (row.matrix === "router" || row.experts < kFewest || mean === null || most === null || random === null) return [];
    // Experts initialized from one MLP are all similar, so the pair must stand out from the mean.
    return most >= kTwins && between(Math.max(mean, random), most, 1) >= 0.5 ? [{ row, mean, most, random }] : [];
  });
  const best = found.sort((a, b) => b.most - a.most)[0];
  if (!best) return undefined;
  return {
    kind: "similar_experts",
    figure: figure(best.most),
    unit: "similarity",
    words: [
      "between two experts of layer ",
      strong(best.row.layer),
      " in ",
      ...matrix_name(best.row.matrix),
      ", independent of neuron order (identical: 1). Mean over pairs: ",
      strong(figure(best.mean)),
      ", random: ",
      strong(figure(best.random)),
      ".",
    ],
    distance: between(Math.max(best.mean, best.random), best.most, 1),
    see: { view: "experts", state: { l: best.row.layer, matrix: best.row.matrix } },
  };
};
