// Energy that a low-rank latent would keep of a layer's queries, or of its keys and values together.
import type { MlaSide } from "./report_file";

export interface KeptEnergy {
  rank: number;
  energy: number;
  random_energy: number;
}

/** For the usual latent rank if it is below the maximum possible rank, otherwise for DeepSeek-V2's fraction of the hidden size. */
export function kept_energy(side: MlaSide | null): KeptEnergy | undefined {
  if (!side) return undefined; // its matrices were skipped
  const of_rank = { rank: side.rank, energy: side.energy, random_energy: side.random_energy };
  const of_share = { rank: side.share_rank, energy: side.share_energy, random_energy: side.share_random_energy };
  return [of_rank, of_share].find((each): each is KeptEnergy => each.energy !== null && each.rank < 0.9 * side.max_possible_rank);
}
