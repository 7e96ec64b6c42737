// A matrix whose singular values match a random matrix although the same matrix in other layers does not.
import { at_threshold, rows_of, scaled_numbers } from "../data/report";
import { strong, threshold_words } from "../shaping/shared_words";
import { ranked } from "./low_rank_matrix";
import { type Claim, type Kind, matrix_name, percent } from "./finding";

const kLeastGap = 0.08;

export const claim: Claim = {
  sentence: "`its singular values match a random matrix`, unlike in other layers",
  guard:
    "Every energy rank is within 3% of the random matrix's rank. The largest singular value is at most 1.2 times the random matrix's. " +
    `The rank exceeds the highest rank in the other layers by at least ${percent(kLeastGap)} of the random matrix's rank`,
  chance: "a random matrix of the same shape",
  experiment: "random models; a planted random matrix in one layer, with low-rank matrices in the other layers",
  result: "random models: not shown. Planted matrix: found",
};

export const matrix_like_random: Kind = ({ report, model, threshold }) => {
  const all = ranked(rows_of(report, "spectrum", model.name), threshold);
  const found = all
    .flatMap((each) => {
      const { row, rank } = each;
      // One rank may agree by chance, and ranks do not show a single large singular value.
      const like_baseline = report.file.thresholds.every((level) => {
        const [here, there] = [at_threshold(row.energy_rank, level), at_threshold(row.random_energy_rank, level)];
        return here === undefined || there === undefined || Math.abs(here - there) <= Math.max(1, 0.03 * there);
      });
      const first = row.random_singular_values && scaled_numbers(report, row.random_singular_values)[0];
      const others = all.filter((other) => other.row.matrix === row.matrix && other.row.layer !== row.layer);
      const next = Math.max(...others.map((other) => other.rank));
      const gap = (rank - next) / each.null_rank;
      return like_baseline && first && row.spectral_norm <= 1.2 * first && others.length >= 2 && gap >= kLeastGap
        ? [{ ...each, next, gap }]
        : [];
    })
    .sort((a, b) => b.gap - a.gap)[0];
  if (!found) return undefined;
  const { row, rank, null_rank, next, gap } = found;
  const values = Array.from({ length: model.layers }, (_, layer) =>
    all.find((each) => each.row.matrix === row.matrix && each.row.layer === layer),
  );
  return {
    kind: "matrix_like_random",
    figure: `${rank} of ${row.max_possible_rank}`,
    unit: "directions",
    words: [
      `hold ${threshold_words(threshold)} of the energy of `,
      ...matrix_name(row.matrix),
      " in layer ",
      strong(row.layer),
      ": its singular values match a random matrix (rank ",
      strong(null_rank),
      "). Highest rank in the other layers: ",
      strong(next),
      ".",
    ],
    spark: {
      values: values.map((each) => each?.rank ?? null),
      null_values: values.map((each) => each?.null_rank ?? null),
      color: { role: row.matrix },
    },
    distance: gap,
    see: { view: "spectra", state: { t: threshold, l: row.layer, h: null, show: "null", by: "matrix", x: "log" } },
  };
};
