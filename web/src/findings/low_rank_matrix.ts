// The matrix with the lowest energy rank relative to a random matrix of the same shape.
import { at_threshold, rows_of } from "../data/report";
import type { SpectrumRow } from "../data/report_file";
import { strong, threshold_words } from "../shaping/shared_words";
import { type Claim, type Kind, matrix_name, percent } from "./finding";

// Smaller matrices are not compared: the random baseline is asymptotic, and single draws vary too much.
export const kLeastOrder = 16;

/** Energy rank and random baseline of whole matrices at a threshold. Zero matrices, which have no energy, are excluded. */
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
  sentence: "`… directions hold 90% of the energy of …`",
  guard:
    `The energy rank is below ${percent(kMostShare)} of the random matrix's rank, and at least ${kLeastGap} below it. The maximum ` +
    `possible rank is at least ${kLeastOrder}`,
  chance: "a random matrix of the same shape",
  experiment: "the rank from another decomposition; the rank of a sampled random matrix; random models; a planted low-rank matrix",
  result:
    "ranks from the other decomposition: equal. Rank of the sampled matrix: within 1 of the baseline. Random models: not shown. Planted " +
    "matrix: found",
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
    kind: "low_rank_matrix",
    figure: `${rank} of ${row.max_possible_rank}`,
    unit: rank === 1 ? "direction" : "directions",
    words: [
      `${rank === 1 ? "holds" : "hold"} ${threshold_words(threshold)} of the energy of `,
      ...matrix_name(row.matrix),
      " in layer ",
      strong(row.layer),
      " (random: ",
      strong(null_rank),
      ").",
    ],
    spark: { values: by_layer((each) => each.rank), null_values: by_layer((each) => each.null_rank), color: { role: row.matrix } },
    distance: 1 - share,
    see: { view: "spectra", state: { t: threshold, l: row.layer, h: null, show: "energy", by: "layer", layers: row.layer } },
  };
};
