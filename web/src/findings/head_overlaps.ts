// Overlaps between the spaces that heads of one projection read, and what chance gives.
import type { OverlapRow } from "../data/report_file";
import { numbers, type Report } from "../data/report";

/** From here on two spaces count as one. */
export const kDuplicate = 0.9;

export interface HeadPair {
  a: number;
  b: number;
  overlap: number;
  chance: number; // of random spaces of those ranks
}

// Matrices of few numbers stay as they are.
type Packed = { at: number; length: number } | (number | null)[][];

/** All pairs a < b of heads that have an overlap. Of key and value projections, heads are key/value heads. */
export function overlaps_of(report: Report, row: OverlapRow, width: number): HeadPair[] {
  const heads = row.ranks.length;
  const packed = row.overlap as Packed;
  const flat = Array.isArray(packed) ? packed.flat() : numbers(report, packed);
  const pairs: HeadPair[] = [];
  for (let a = 0; a < heads; ++a)
    for (let b = a + 1; b < heads; ++b) {
      const overlap = flat[a * heads + b];
      const chance = Math.max(row.ranks[a]!, row.ranks[b]!) / width;
      if (overlap != null && Number.isFinite(overlap)) pairs.push({ a, b, overlap, chance });
    }
  return pairs;
}
