// What sentences that count heads share: those that reach a cut beyond doubt, the strongest first.
import type { Color } from "../chart/theme";
import { largest, largest_by_layer } from "../data/numbers";
import type { Finding } from "./finding";

interface HeadRow {
  layer: number;
  head: number | null;
}

/** Undefined where no head reaches the cut. `error`: the standard error of a value, which a head has to clear twice. */
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

/** "3 of 36", "heads copy": the part of a finding that counts heads. */
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
  colour: Color = "accent",
) {
  const heads = rows.filter((row) => row.head !== null);
  return { values: largest_by_layer(layers, heads, value), null_values: largest_by_layer(layers, heads, null_value), colour };
}
