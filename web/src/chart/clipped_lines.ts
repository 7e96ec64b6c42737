// Marks for lines that leave the range of the vertical axis.
import { scale_of } from "./axis";
import type { Line, LinesChart } from "./lines";

export type Side = "above" | "below";

export interface Cut {
  index: number; // index of the vertex
  side: Side;
}

/** Where a line leaves the axis range: the first vertex of every run outside it. On a logarithmic axis, values up to 0 are below. */
export function cuts({ y: axis }: LinesChart, line: Line): Cut[] {
  const place = scale_of(axis, [0, 1]);
  const hair = 0.002; // tolerance, as a fraction of the axis
  const [low, high] = [place.invert(-hair), place.invert(1 + hair)];
  const side_of = (value: number | null): Side | undefined =>
    value === null || !Number.isFinite(value) ? undefined : value < low ? "below" : value > high ? "above" : undefined;
  return Array.from(line.y, side_of).flatMap((side, index, all) =>
    side !== undefined && side !== all[index - 1] ? [{ index, side }] : [],
  );
}

/** Caption for the triangles at plot edges. Undefined if there are none. */
export function cut_words(chart: LinesChart): string | undefined {
  const sides = new Set(chart.panels.flatMap((panel) => panel.lines.flatMap((line) => cuts(chart, line).map(({ side }) => side))));
  if (sides.size === 0) return undefined;
  return `${sides.has("below") ? "▾" : ""}${sides.has("above") ? "▴" : ""}: the line continues outside the axis range.`;
}
