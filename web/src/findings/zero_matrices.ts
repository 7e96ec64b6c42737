// Matrices or head circuits with only zero weights: pruned or never trained.
import type { Word } from "../chart/rich_text";
import { at_threshold, rows_of } from "../data/report";
import { head_words, layers_words, strong } from "../shaping/shared_words";
import { matrix_name, type Claim, type Kind } from "./finding";

const kPlain = ["q", "k", "v", "o", "gate", "up", "down", "router", "shared_gate", "shared_up", "shared_down"];
const kMostNamed = 3;

const joined = (named: readonly Word[][]): Word[] => {
  const left = named.length - kMostNamed;
  return named
    .slice(0, kMostNamed)
    .flatMap((each, index) => [index === 0 ? "" : index === named.length - 1 ? " and " : ", ", ...each])
    .concat(left > 0 ? [` and ${left} more`] : []);
};

export const claim: Claim = {
  sentence: "`… matrices (head circuits) are all zero`",
  guard: "Every weight of the matrix is 0",
  chance: "none",
  experiment: "random models; one matrix, and the input weights of one head, set to zero",
  result: "random models: not shown. Planted zeros: found",
};

export const zero_matrices: Kind = ({ report, model, threshold }) => {
  // Products such as QK are zero if a factor is, so only plain matrices are listed.
  const rows = rows_of(report, "spectrum", model.name).filter((row) => row.head === null && kPlain.includes(row.matrix));
  const zero = rows.filter((row) => row.frobenius_norm === 0);
  const [first] = zero;
  if (!first) return undefined;
  const matrices = [...new Set(zero.map((row) => row.matrix))].map((matrix): Word[] => [
    ...matrix_name(matrix),
    ` of ${layers_words(
      zero
        .filter((row) => row.matrix === matrix)
        .map((row) => row.layer)
        .sort((a, b) => a - b),
    )}`,
  ]);
  const null_rank = at_threshold(first.random_energy_rank, threshold);
  return {
    kind: "zero_matrices",
    figure: `${zero.length} of ${rows.length}`,
    unit: zero.length === 1 ? "matrices is all zero" : "matrices are all zero",
    words: [
      ...joined(matrices),
      ": rank ",
      strong(0),
      ...(null_rank && zero.length === 1 ? [" (random: ", strong(null_rank), ")"] : []),
      ".",
    ],
    distance: 1,
    see: { view: "spectra", state: { t: threshold, l: first.layer, h: null, show: "energy", by: "layer", layers: first.layer } },
  };
};

export const zero_heads: Kind = ({ report, model }) => {
  const rows = rows_of(report, "circuits", model.name);
  // Heads of a layer whose whole circuit is zero are covered by zero_matrices.
  const whole = new Set(rows.filter((row) => row.head === null && row.frobenius_norm === 0).map((row) => `${row.circuit}/${row.layer}`));
  const heads = rows.flatMap(({ head, ...row }) => (head === null ? [] : [{ ...row, head }]));
  const zero = heads.filter((row) => row.frobenius_norm === 0 && !whole.has(`${row.circuit}/${row.layer}`));
  const [first] = zero;
  if (!first) return undefined;
  const named = zero.map((row): Word[] => [`${row.circuit.toUpperCase()} of `, ...head_words(row)]);
  return {
    kind: "zero_heads",
    figure: `${zero.length} of ${heads.length}`,
    unit: zero.length === 1 ? "head circuits is all zero" : "head circuits are all zero",
    words: [...joined(named), ": rank ", strong(0), "."],
    distance: 1,
    see: { view: "heads", state: { l: first.layer, h: first.head } },
  };
};
