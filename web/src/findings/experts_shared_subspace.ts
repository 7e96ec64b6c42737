// Experts that all read from, or write to, nearly one space.
import { rows_of } from "../data/report";
import { strong } from "../shaping/shared_words";
import { between, type Claim, type Kind, matrix_name } from "./finding";

const kFewest = 4;
/** Of the way from one expert's rank to that of independent ones, the most that shares a space. */
const kOneSpace = 0.25;

export const claim: Claim = {
  sentence: "`they read (write to) nearly one space`",
  guard: `rank of all together at most ${kOneSpace} of the way from one expert's to that of random ones; ${kFewest} experts`,
  chance: "as many random experts",
  experiment: "random models; experts whose rows lie in one small space",
  result: "silent; found",
};

export const experts_shared_subspace: Kind = ({ report, model }) => {
  const found = rows_of(report, "experts", model.name).flatMap((row) => {
    const single = row.single_energy_rank?.["0.9"];
    const [stacked, random] = [row.energy_rank["0.9"], row.random_energy_rank["0.9"]];
    if (single === undefined || stacked === undefined || random === undefined || row.experts < kFewest) return [];
    // One expert must leave room for others to differ in.
    if (random < 2 * single || single === 0) return [];
    const way = between(single, stacked, random);
    return way <= kOneSpace ? [{ row, single, stacked, random, way }] : [];
  });
  const best = found.sort((a, b) => a.way - b.way)[0];
  if (!best) return undefined;
  const { row } = best;
  return {
    kind: "experts_one_space",
    figure: `${best.stacked} of ${Math.min(...row.shape)}`,
    unit: "directions",
    words: [
      "hold 0.9 of the energy of ",
      ...matrix_name(row.matrix),
      " of ",
      strong(row.experts),
      " experts of layer ",
      strong(row.layer),
      ` together: ${row.matrix === "down" ? "they write to" : "they read"} nearly one space. One of them has `,
      strong(best.single),
      ", as many random ones ",
      strong(best.random),
      ".",
    ],
    distance: 1 - Math.max(0, best.way),
    see: { view: "experts", state: { l: row.layer, matrix: row.matrix } },
  };
};
