// A matrix whose largest weight lies far beyond what as many random numbers reach.
import { largest } from "../data/numbers";
import { rows_of } from "../data/report";
import { strong } from "../shaping/shared_words";
import { type Claim, figure, type Kind, matrix_name } from "./finding";

const kLaplace = 3; // excess kurtosis of that distribution; much less is usual for trained weights

const kTimesReach = 1.5;

export const claim: Claim = {
  sentence: "`… excess kurtosis … its largest weight lies … deviations from the mean`",
  guard: `above ${kLaplace}, which a Laplace distribution has, and ${kTimesReach} times the reach of as many normal numbers`,
  chance: "normal numbers: 0",
  experiment: "random models; one weight made large",
  result: "silent; found",
};

export const heavy_tails: Kind = ({ report, model }) => {
  const rows = rows_of(report, "weights", model.name).filter((row) => row.head === null && row.std > 0);
  const found = largest(rows, (row) => row.excess_kurtosis);
  // Of Gaussian numbers the deviation is sqrt(24 / n), but few numbers have wide tails by chance.
  if (!found || found.row.count < 1000 || found.value < kLaplace) return undefined;
  const { row: best, value: kurtosis } = found;
  const furthest = Math.max(best.max - best.mean, best.mean - best.min) / best.std;
  // Rows of different sizes have a high kurtosis too, with no weight far from the rest.
  const reach = Math.sqrt(2 * Math.log(best.count));
  if (furthest < kTimesReach * reach) return undefined;
  return {
    kind: "heavy_tails",
    figure: figure(kurtosis),
    unit: "excess kurtosis",
    words: [
      "in ",
      ...matrix_name(best.matrix),
      " of layer ",
      strong(best.layer),
      ": its largest weight lies ",
      strong(figure(furthest)),
      " deviations from the mean. Random numbers have ",
      strong(0),
      ", and as many of them reach about ",
      strong(figure(reach)),
      ".",
    ],
    spark: {
      values: Array.from(
        { length: model.layers },
        (_, layer) => rows.find((row) => row.layer === layer && row.matrix === best.matrix)?.excess_kurtosis ?? null,
      ),
      null_values: 0,
      colour: { role: best.matrix },
    },
    distance: kurtosis / (kurtosis + kLaplace),
    see: { view: "weights", state: { l: best.layer, h: null, matrix: best.matrix } },
  };
};
