// A model in which nothing was learned, or nothing that these measures see. Asked only where no other kind has a word to say.
import { at_threshold, rows_of } from "../data/report";
import { kLeastOrder } from "./fewest_directions";
import { at_most_percent, strong, type Kind } from "./finding";

export const near_random: Kind = ({ report, model, threshold }) => {
  const rows = rows_of(report, "spectrum", model.name).filter((row) => row.head === null && row.possible_rank >= kLeastOrder);
  let most = 0;
  let compared = 0;
  for (const row of rows)
    for (const level of report.file.thresholds) {
      const [rank, null_rank] = [at_threshold(row.energy_rank, level), at_threshold(row.null_energy_rank, level)];
      if (rank === undefined || typeof null_rank !== "number" || null_rank === 0) continue;
      // One more or less is rounding, however few there are.
      if (Math.abs(rank - null_rank) > Math.max(1, 0.03 * null_rank)) return undefined;
      most = Math.max(most, Math.abs(rank - null_rank) / null_rank);
      ++compared;
    }
  if (compared === 0) return undefined;
  return {
    kind: "near_random", figure: at_most_percent(most), unit: "from random",
    words: ["is the most by which any rank here differs from that of random numbers: ", strong(compared), " of whole matrices were compared. No other measure of this report stands out."],
    distance: 0,
    see: { view: "spectra", state: { t: threshold, l: null, h: null, show: "null", by: "matrix", x: "log" } },
  };
};
