// The matrix whose energy lies in the fewest directions, measured against random numbers of its shape.
import { at_threshold, rows_of } from "../data/report";
import type { SpectrumRow } from "../data/report_file";
import { strong, threshold_words } from "../shaping/shared_words";
import { type Claim, type Kind, matrix_name } from "./finding";

// Below this the null, a law of large matrices, and the chance of one draw leave too much open.
export const kLeastOrder = 16;

/** Energy rank and null of whole layers' matrices at a threshold; none of zero matrices, which have no energy. */
export function ranked(rows: readonly SpectrumRow[], threshold: number) {
  return rows
    .filter((row) => row.head === null && row.max_possible_rank >= kLeastOrder && row.frobenius_norm > 0)
    .flatMap((row) => {
      const [rank, null_rank] = [at_threshold(row.energy_rank, threshold), at_threshold(row.random_energy_rank, threshold)];
      return rank !== undefined && typeof null_rank === "number" && null_rank > 0
        ? [{ row, rank, null_rank, share: rank / null_rank }]
        : [];
    });
}

const kMostShare = 0.9;
const kLeastGap = 3;

export const claim: Claim = {
  sentence: "`… directions hold 90 % of the energy of …`",
  guard: `below ${kMostShare} of the null, and ${kLeastGap} ranks; matrices of rank ${kLeastOrder} and more`,
  chance: "random numbers of that shape",
  experiment: "rank by another decomposition, and of random numbers drawn; random models; a matrix made of few directions",
  result: "equal, and within one rank; silent; found",
};

export const low_rank_matrix: Kind = ({ report, model, threshold }) => {
  const all = ranked(rows_of(report, "spectrum", model.name), threshold);
  const found = all
    .filter(({ rank, null_rank, share }) => share < kMostShare && null_rank - rank >= kLeastGap)
    .sort((a, b) => a.share - b.share)[0];
  if (!found) return undefined;
  const { row, rank, null_rank, share } = found;
  const alike = all.filter((each) => each.row.matrix === row.matrix);
  const by_layer = (value: (each: (typeof all)[number]) => number) =>
    Array.from({ length: model.layers }, (_, layer) => {
      const there = alike.find((each) => each.row.layer === layer);
      return there ? value(there) : null;
    });
  return {
    kind: "fewest_directions",
    figure: `${rank} of ${row.max_possible_rank}`,
    unit: rank === 1 ? "direction" : "directions",
    words: [
      `${rank === 1 ? "holds" : "hold"} ${threshold_words(threshold)} of the energy of `,
      ...matrix_name(row.matrix),
      " in layer ",
      strong(row.layer),
      ". Random numbers would need ",
      strong(null_rank),
      ".",
    ],
    spark: { values: by_layer((each) => each.rank), null_values: by_layer((each) => each.null_rank), colour: { role: row.matrix } },
    distance: 1 - share,
    see: { view: "spectra", state: { t: threshold, l: row.layer, h: null, show: "energy", by: "layer", layers: row.layer } },
  };
};
