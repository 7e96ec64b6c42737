// A model in whose weights nothing was learned, or nothing that these measures see. Asked only where no other kind has a word to say.
import { at_threshold, rows_of } from "../data/report";
import { distinct } from "../data/shared_weights";
import { strong } from "../shaping/shared_words";
import { kLeastOrder } from "./low_rank_matrix";
import { at_most_percent, type Claim, type Kind, percent } from "./finding";

const kTooFew = `fewer than ${kLeastOrder} directions, where chance weighs too much`;
const kNothingElse = " No other measure of this report stands out.";

const kMostApart = 0.03;

export const claim: Claim = {
  sentence: "`… is the most by which any of the compared ranks differs from that of random numbers`",
  guard: `every rank within ${percent(kMostApart)} of its null, and no other sentence`,
  chance: "the same",
  experiment: "random models; trained models",
  result: "it, or nothing, is all that is said; silent of each",
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
      words: [`with random numbers: ${small === 1 ? "it has" : "all have"} ${kTooFew}.`, kNothingElse],
      distance: 0,
      see,
    };
  // One more or less is rounding, however few there are.
  if (ranks.length === 0 || ranks.some(({ apart, null_rank }) => apart > Math.max(1, kMostApart * null_rank))) return undefined;
  const share = (each: (typeof ranks)[number]) => each.apart / each.null_rank;
  const most = ranks.reduce((far, each) => (share(each) > share(far) ? each : far));
  return {
    kind: "model_like_random",
    figure: at_most_percent(share(most)),
    unit: "from random",
    words: [
      "is the most by which any of the ",
      strong(ranks.length),
      " compared ranks of whole matrices differs from that of random " +
        `numbers${most.apart > 0 ? ` (${most.apart} of ${most.null_rank})` : ""}.`,
      small > 0 ? ` Left out ${small === 1 ? "is" : "are"} ${small} ${small === 1 ? "matrix" : "matrices"} with ${kTooFew}.` : "",
      kNothingElse,
    ],
    distance: 0,
    see,
  };
};
