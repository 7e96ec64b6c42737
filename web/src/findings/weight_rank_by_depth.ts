// A matrix whose energy rank rises or falls with depth.
import { rows_of } from "../data/report";
import type { Matrix } from "../data/report_file";
import { strong, threshold_words } from "../shaping/shared_words";
import { ranked } from "./low_rank_matrix";
import { type Claim, type Kind, matrix_name, percent } from "./finding";
import { trend } from "./trend_with_depth";

const kLeastChange = 0.15;

export const claim: Claim = {
  sentence: "`… directions … the energy rank of … falls (rises) with depth`",
  guard:
    `The trend is consistent over all layers (defined in \`trend_with_depth.ts\`). The rank changes by at least ${percent(kLeastChange)} ` +
    "of the random matrix's rank",
  chance: "a random matrix of the same shape, whose rank is the same in all layers",
  experiment: "random models; planted matrices whose rank falls with depth",
  result: "random models: not shown. Planted matrices: found",
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
    kind: "weight_rank_by_depth",
    figure: `${first.rank} → ${last.rank}`,
    unit: "directions",
    words: [
      `from layer 0 to layer ${model.layers - 1}: the energy rank (${threshold_words(threshold)}) of `,
      ...matrix_name(matrix),
      ` ${way} with depth (random: `,
      strong(last.null_rank),
      " in every layer).",
    ],
    spark: { values: layers.map((each) => each?.rank ?? null), null_values: last.null_rank, color: { role: matrix } },
    distance: change,
    see: { view: "spectra", state: { t: threshold, l: null, h: null, show: "energy", by: "matrix" } },
  };
};
