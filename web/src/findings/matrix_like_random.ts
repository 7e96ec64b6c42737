// One matrix whose singular values are those of random numbers although its like in other layers' are not.
import { at_threshold, rows_of, scaled_numbers } from "../data/report";
import { strong, threshold_words } from "../shaping/shared_words";
import { ranked } from "./low_rank_matrix";
import { type Claim, type Kind, matrix_name } from "./finding";

const kLeastGap = 0.08;

export const claim: Claim = {
  sentence: "`its singular values are like those of random numbers`, where the other layers' are not",
  guard: `every rank within 3 % of the null, and the first value; ${kLeastGap} of the null above the next layer`,
  chance: "random numbers of that shape",
  experiment: "random models; one layer of random numbers among others of few directions",
  result: "silent; found",
};

export const matrix_like_random: Kind = ({ report, model, threshold }) => {
  const all = ranked(rows_of(report, "spectrum", model.name), threshold);
  const found = all
    .flatMap((each) => {
      const { row, rank } = each;
      // A rank at one threshold may agree by chance, and one large value hides behind many small ones.
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
      ": its singular values are like those of random numbers, which would need ",
      strong(null_rank),
      ". No other layer here needs more than ",
      strong(next),
      ".",
    ],
    spark: {
      values: values.map((each) => each?.rank ?? null),
      null_values: values.map((each) => each?.null_rank ?? null),
      colour: { role: row.matrix },
    },
    distance: gap,
    see: { view: "spectra", state: { t: threshold, l: row.layer, h: null, show: "null", by: "matrix", x: "log" } },
  };
};
