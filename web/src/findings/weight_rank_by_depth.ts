// A matrix that needs more directions, or fewer, the deeper its layer lies.
import { rows_of } from "../data/report";
import type { Matrix } from "../data/report_file";
import { strong, threshold_words } from "../shaping/shared_words";
import { ranked } from "./low_rank_matrix";
import { type Claim, type Kind, matrix_name } from "./finding";
import { trend } from "./trend_with_depth";

const kLeastChange = 0.15;

export const claim: Claim = {
  sentence: "`… loses (gains) rank with depth`",
  guard: `every layer on the way (\`trend_with_depth.ts\`), ${kLeastChange} of the null in all`,
  chance: "random numbers of that shape, the same in each layer",
  experiment: "random models; matrices of fewer directions the deeper they lie",
  result: "silent; found",
};

export const weight_rank_by_depth: Kind = ({ report, model, threshold }) => {
  const all = ranked(rows_of(report, "spectrum", model.name), threshold);
  const found = [...new Set(all.map((each) => each.row.matrix))]
    .flatMap((matrix: Matrix) => {
      const layers = Array.from({ length: model.layers }, (_, layer) =>
        all.find((each) => each.row.matrix === matrix && each.row.layer === layer),
      );
      const way = trend(layers.map((each) => each?.share ?? null));
      const [first, last] = [layers[0], layers[layers.length - 1]];
      if (
        !way ||
        !first ||
        !last ||
        Math.abs(last.share - first.share) < kLeastChange ||
        layers.some((each) => each?.null_rank !== last.null_rank)
      )
        return [];
      return [{ matrix, way, layers, first, last, change: Math.abs(last.share - first.share) }];
    })
    .sort((a, b) => b.change - a.change)[0];
  if (!found) return undefined;
  const { matrix, way, layers, first, last, change } = found;
  return {
    kind: "weights_depth",
    figure: `${first.rank} → ${last.rank}`,
    unit: "directions",
    words: [
      `from layer 0 to layer ${model.layers - 1}: `,
      ...matrix_name(matrix),
      ` ${way === "falls" ? "loses" : "gains"} rank with depth (${threshold_words(threshold)} of the energy). Random numbers would need `,
      strong(last.null_rank),
      " in each layer.",
    ],
    spark: { values: layers.map((each) => each?.rank ?? null), null_values: last.null_rank, colour: { role: matrix } },
    distance: change,
    see: { view: "spectra", state: { t: threshold, l: null, h: null, show: "energy", by: "matrix" } },
  };
};
