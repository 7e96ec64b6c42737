/** The number at an index; NaN, which no chart draws, beyond the last. */
export const number_at = (values: ArrayLike<number>, index: number): number => values[index] ?? NaN;

/** The largest finite number; undefined where there is none. */
export function largest_number(values: ArrayLike<number | null>): number | undefined {
  let largest: number | undefined;
  for (let index = 0; index < values.length; ++index) {
    const value = values[index] ?? NaN;
    if (Number.isFinite(value) && (largest === undefined || value > largest)) largest = value;
  }
  return largest;
}
