// A matrix whose largest weight is far beyond the maximum of equally many Gaussian weights.
import { largest } from "../data/numbers";
import { rows_of } from "../data/report";
import { strong } from "../shaping/shared_words";
import { type Claim, figure, type Kind, matrix_name } from "./finding";

const kLaplace = 3; // excess kurtosis of a Laplace distribution; trained weights usually have much less

const kTimesReach = 1.5;

export const claim: Claim = {
  sentence: "`… excess kurtosis … the weight farthest from the mean is … standard deviations away`",
  guard:
    `The excess kurtosis is above ${kLaplace}, the value of a Laplace distribution. The weight farthest from the mean is above ` +
    `${kTimesReach} times the expected maximum of the same number of Gaussian weights`,
  chance: "Gaussian weights: excess kurtosis 0",
  experiment: "random models; a planted large weight",
  result: "random models: not shown. Planted weight: found",
};

export const heavy_tails: Kind = ({ report, model }) => {
  const rows = rows_of(report, "weights", model.name).filter((row) => row.head === null && row.std > 0);
  const found = largest(rows, (row) => row.excess_kurtosis);
  // The excess kurtosis of n Gaussian numbers has standard deviation sqrt(24 / n), but small samples can have wide tails by chance.
  if (!found || found.row.count < 1000 || found.value < kLaplace) return undefined;
  const { row: best, value: kurtosis } = found;
  const furthest = Math.max(best.max - best.mean, best.mean - best.min) / best.std;
  // Rows with different norms also give a high kurtosis, without any outlier weight.
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
      ". The weight farthest from the mean is ",
      strong(figure(furthest)),
      " standard deviations away. Gaussian weights: excess kurtosis ",
      strong(0),
      ", farthest about ",
      strong(figure(reach)),
      ".",
    ],
    spark: {
      values: Array.from(
        { length: model.layers },
        (_, layer) => rows.find((row) => row.layer === layer && row.matrix === best.matrix)?.excess_kurtosis ?? null,
      ),
      null_values: 0,
      color: { role: best.matrix },
    },
    distance: kurtosis / (kurtosis + kLaplace),
    see: { view: "weights", state: { l: best.layer, h: null, matrix: best.matrix } },
  };
};
