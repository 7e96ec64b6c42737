// Overlaps between the subspaces of heads in one projection, with their random baseline.
import { overlap_matrix } from "../data/matrix";
import type { Report } from "../data/report";
import type { HeadOverlapRow } from "../data/report_file";
import { random_overlap } from "./random_baselines";

export interface HeadPair {
  a: number;
  b: number;
  overlap: number;
  chance: number; // overlap of random subspaces of the same ranks
}

/** All pairs a < b of heads with an overlap. In key and value projections, heads are KV heads. */
export function overlaps_of(report: Report, row: HeadOverlapRow, width: number): HeadPair[] {
  const chance = (a: number, b: number) => random_overlap([row.ranks[a] ?? 0, row.ranks[b] ?? 0], width);
  return overlap_matrix(report, row).flatMap((line, a) =>
    line.flatMap((overlap, b) => (b > a && overlap !== null ? [{ a, b, overlap, chance: chance(a, b) }] : [])),
  );
}
