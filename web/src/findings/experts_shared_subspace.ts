// Experts that all read from, or all write to, nearly the same subspace.
import { rows_of } from "../data/report";
import { strong } from "../shaping/shared_words";
import { between, type Claim, type Kind, matrix_name, percent } from "./finding";

const kFewest = 4;
/** Position of the stacked rank between one expert's rank (0) and the rank of independent experts (1), at most. */
const kOneSpace = 0.25;

export const claim: Claim = {
  sentence: "`all experts read from (write to) nearly the same subspace`",
  guard:
    "Let a be the rank of one expert, and b the rank of stacked random experts. The rank of the stacked experts exceeds a by at most " +
    `${percent(kOneSpace)} of b − a. The layer has at least ${kFewest} experts`,
  chance: "as many random experts as the layer has, stacked",
  experiment: "random models; planted experts whose rows lie in one small subspace",
  result: "random models: not shown. Planted experts: found",
};

export const experts_shared_subspace: Kind = ({ report, model }) => {
  const found = rows_of(report, "experts", model.name).flatMap((row) => {
    const single = row.single_energy_rank?.["0.9"];
    const [stacked, random] = [row.energy_rank["0.9"], row.random_energy_rank["0.9"]];
    if (single === undefined || stacked === undefined || random === undefined || row.experts < kFewest) return [];
    // If one expert nearly fills the space, the others cannot differ from it.
    if (random < 2 * single || single === 0) return [];
    const way = between(single, stacked, random);
    return way <= kOneSpace ? [{ row, single, stacked, random, way }] : [];
  });
  const best = found.sort((a, b) => a.way - b.way)[0];
  if (!best) return undefined;
  const { row } = best;
  return {
    kind: "experts_shared_subspace",
    figure: `${best.stacked} of ${Math.min(...row.shape)}`,
    unit: "directions",
    words: [
      "hold 90% of the energy of ",
      ...matrix_name(row.matrix),
      ", stacked over the ",
      strong(row.experts),
      " experts of layer ",
      strong(row.layer),
      `: all experts ${row.matrix === "down" ? "write to" : "read from"} nearly the same subspace. One expert: `,
      strong(best.single),
      ", random experts stacked: ",
      strong(best.random),
      ".",
    ],
    distance: 1 - Math.max(0, best.way),
    see: { view: "experts", state: { l: row.layer, matrix: row.matrix } },
  };
};
