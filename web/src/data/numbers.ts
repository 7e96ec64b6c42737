// Helpers for lists of numbers.

/** The number at an index; NaN, which charts skip, beyond the end. */
export const number_at = (values: ArrayLike<number>, index: number): number => values[index] ?? NaN;

/** The largest finite number. Undefined if there is none. */
export function largest_number(values: ArrayLike<number | null>): number | undefined {
  let largest: number | undefined;
  for (let index = 0; index < values.length; ++index) {
    const value = values[index] ?? NaN;
    if (Number.isFinite(value) && (largest === undefined || value > largest)) largest = value;
  }
  return largest;
}

/** 0, 1, … count - 1. */
export const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** The row with the largest value, and the value. Undefined if no row has one. */
export function largest<Row>(
  rows: readonly Row[],
  value: (row: Row) => number | null | undefined,
): { row: Row; value: number } | undefined {
  let found: { row: Row; value: number } | undefined;
  for (const row of rows) {
    const here = value(row);
    if (typeof here === "number" && (!found || here > found.value)) found = { row, value: here };
  }
  return found;
}

/** The largest value per layer; null for layers without a value. */
export function largest_by_layer<Row extends { layer: number }>(
  layers: number,
  rows: readonly Row[],
  value: (row: Row) => number | null | undefined,
): (number | null)[] {
  const all: (number | null)[] = Array.from({ length: layers }, () => null);
  for (const row of rows) {
    const [here, there] = [value(row) ?? null, all[row.layer] ?? null];
    if (here !== null && (there === null || here > there)) all[row.layer] = here;
  }
  return all;
}
