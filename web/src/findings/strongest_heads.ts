// Helpers for findings that count heads above a threshold.
import type { Color } from "../chart/theme";
import { largest, largest_by_layer } from "../data/numbers";
import type { Finding } from "./finding";

interface HeadRow {
  layer: number;
  head: number | null;
}

/** The heads above `cut` by at least 2 standard errors (`error`). Undefined if there is none. */
export function strongest_heads<Row extends HeadRow>(
  rows: readonly Row[],
  cut: number,
  value: (row: Row) => number | null | undefined,
  error: (row: Row) => number | null | undefined = () => null,
) {
  const known = rows.filter((row): row is Row & { head: number } => row.head !== null && typeof value(row) === "number");
  const found = known.filter((row) => (value(row) ?? NaN) - 2 * (error(row) ?? 0) >= cut);
  const best = largest(found, value);
  return best && { best: best.row, most: best.value, count: found.length, of: known.length };
}

/** The figure and unit of a finding that counts heads: "3 of 36", "heads are previous-token heads". */
export function head_count(found: { count: number; of: number }, one: string, several: string): Pick<Finding, "figure" | "unit"> {
  return {
    figure: `${found.count} of ${found.of}`,
    unit: found.count === 1 ? `${found.of === 1 ? "head" : "heads"} ${one}` : `heads ${several}`,
  };
}

export function head_spark<Row extends HeadRow>(
  layers: number,
  rows: readonly Row[],
  value: (row: Row) => number | null | undefined,
  null_value: (row: Row) => number | null | undefined,
  color: Color = "accent",
) {
  const heads = rows.filter((row) => row.head !== null);
  return { values: largest_by_layer(layers, heads, value), null_values: largest_by_layer(layers, heads, null_value), color };
}
