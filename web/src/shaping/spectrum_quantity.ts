// Quantities of a spectrum that can be plotted.
import { number_at } from "../data/numbers";
import { cumulative_energy, numbers, scaled_numbers, type Report } from "../data/report";
import type { SpectrumRow } from "../data/report_file";

export const kQuantities = ["values", "null", "energy"] as const;
export type Quantity = (typeof kQuantities)[number];

/** The values of a spectrum's line, one per singular value. Undefined without `--values`. */
export function spectrum_quantity(report: Report, row: SpectrumRow, quantity: Quantity): ArrayLike<number> | undefined {
  if (!row.singular_values) return undefined;
  const values = numbers(report, row.singular_values);
  if (quantity === "values") return values;
  if (quantity === "energy") return cumulative_energy(values);
  if (!row.random_singular_values) return undefined;
  const null_values = scaled_numbers(report, row.random_singular_values);
  return values.map((value, index) => (number_at(null_values, index) > 0 ? value / number_at(null_values, index) : NaN));
}

/** The same for the random baseline. Undefined if the quantity is already relative to it. */
export function random_quantity(report: Report, row: SpectrumRow, quantity: Quantity): ArrayLike<number> | undefined {
  if (!row.random_singular_values || quantity === "null") return undefined;
  const values = scaled_numbers(report, row.random_singular_values);
  return quantity === "energy" ? cumulative_energy(values) : values;
}
