// Two experts that do nearly the same, where the others do not.
import { rows_of } from "../data/report";
import { strong } from "../shaping/shared_words";
import { between, type Claim, figure, type Kind, matrix_name } from "./finding";

/** Below this, two experts are alike at most. */
const kTwins = 0.9;
/** The fewest experts of which two can stand out. */
const kFewest = 4;

export const claim: Claim = {
  sentence: "`… similarity have two experts`",
  guard: `similarity of ${kTwins}, half way from the mean of pairs to 1; ${kFewest} experts`,
  chance: "random experts",
  experiment: "random models; an expert copied",
  result: "silent; found",
};

export const similar_experts: Kind = ({ report, model }) => {
  const found = rows_of(report, "experts", model.name).flatMap((row) => {
    const { mean_similarity: mean, most_similarity: most, random_similarity: random } = row;
    if (row.matrix === "router" || row.experts < kFewest || mean === null || most === null || random === null) return [];
    // What all share, as experts copied from one MLP do, makes no twins.
    return most >= kTwins && between(Math.max(mean, random), most, 1) >= 0.5 ? [{ row, mean, most, random }] : [];
  });
  const best = found.sort((a, b) => b.most - a.most)[0];
  if (!best) return undefined;
  return {
    kind: "expert_twins",
    figure: figure(best.most),
    unit: "similarity",
    words: [
      "have two experts of layer ",
      strong(best.row.layer),
      " in what ",
      ...matrix_name(best.row.matrix),
      " does to the stream, whatever the order of their neurons; the same has 1. Pairs there have ",
      strong(figure(best.mean)),
      " in the mean, random ones ",
      strong(figure(best.random)),
      ".",
    ],
    distance: between(Math.max(best.mean, best.random), best.most, 1),
    see: { view: "experts", state: { l: best.row.layer, matrix: best.row.matrix } },
  };
};
