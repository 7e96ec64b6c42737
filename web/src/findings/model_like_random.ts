// A model whose weights match random matrices in all measures. Used only if there is no other finding.
import { at_threshold, rows_of } from "../data/report";
import { distinct } from "../data/shared_weights";
import { strong } from "../shaping/shared_words";
import { kLeastOrder } from "./low_rank_matrix";
import { at_most_percent, type Claim, type Kind, percent } from "./finding";

const kTooFew = `fewer than ${kLeastOrder} directions, too few for a comparison with a random matrix`;
const kNothingElse = " No other measure stands out.";

const kMostApart = 0.03;

export const claim: Claim = {
  sentence: "`… maximum difference from random`",
  guard: `Every energy rank is within ${percent(kMostApart)} of the rank of a random matrix of the same shape. There is no other finding`,
  chance: "random matrices of the same shapes",
  experiment: "random models; trained models",
  result: "random models: only this finding, or none. Trained models: not shown",
};

export const model_like_random: Kind = ({ report, model, threshold }) => {
  const whole = distinct(model, rows_of(report, "spectrum", model.name)).filter((row) => row.head === null);
  const rows = whole.filter((row) => row.max_possible_rank >= kLeastOrder);
  const ranks = rows.flatMap((row) =>
    report.file.thresholds.flatMap((level) => {
      const [rank, null_rank] = [at_threshold(row.energy_rank, level), at_threshold(row.random_energy_rank, level)];
      return rank !== undefined && typeof null_rank === "number" && null_rank > 0 ? [{ apart: Math.abs(rank - null_rank), null_rank }] : [];
    }),
  );
  const small = whole.length - rows.length;
  const see = { view: "spectra", state: { t: threshold, l: null, h: null, show: "null", by: "matrix", x: "log" } };
  if (small > 0 && rows.length === 0)
    return {
      kind: "model_like_random",
      figure: `0 of ${small}`,
      unit: small === 1 ? "matrix compared" : "matrices compared",
      words: [`${small === 1 ? "It has" : "All have"} ${kTooFew}.`, kNothingElse],
      distance: 0,
      see,
    };
  // A difference of 1 is rounding, however small the rank.
  if (ranks.length === 0 || ranks.some(({ apart, null_rank }) => apart > Math.max(1, kMostApart * null_rank))) return undefined;
  const share = (each: (typeof ranks)[number]) => each.apart / each.null_rank;
  const most = ranks.reduce((far, each) => (share(each) > share(far) ? each : far));
  return {
    kind: "model_like_random",
    figure: at_most_percent(share(most)),
    unit: "maximum difference from random",
    words: [
      "between the energy ranks of whole matrices and those of random matrices",
      `${most.apart > 0 ? ` (a difference of ${most.apart} from rank ${most.null_rank})` : ""}, over `,
      strong(ranks.length),
      ` ${ranks.length === 1 ? "rank" : "ranks"}.`,
      small > 0 ? ` Skipped: ${small} ${small === 1 ? "matrix" : "matrices"} with ${kTooFew}.` : "",
      kNothingElse,
    ],
    distance: 0,
    see,
  };
};
