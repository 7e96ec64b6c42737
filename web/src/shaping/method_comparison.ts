// The compressed models of a plan and their savings.
import { rows_of } from "../data/report";
import type { PlanRow } from "../data/report_file";
import type { Reading } from "./reading";
import { choice_param, index_param } from "./state";

export const kSavings = ["parameters", "cache"] as const;
export type Saving = (typeof kSavings)[number];

export const method_rows = ({ report, model }: Reading): PlanRow[] => rows_of(report, "plan", model.name);

/** The saving on the horizontal axis: parameters, unless the address sets another. */
export const saving_of = ({ state }: Reading): Saving => choice_param(state, "of", kSavings);

export const rise_percent = (row: { loss_increase: number }): number => 100 * Math.expm1(row.loss_increase);

/** Fraction saved by a row; 0 if it saves nothing or is larger. */
export function saved_share({ model }: Reading, row: PlanRow, saving: Saving): number {
  const [before, after] =
    saving === "parameters" ? [model.parameters, row.parameters] : [model.kv_cache_bytes_per_token, row.kv_cache_bytes_per_token];
  return before ? Math.max(0, 1 - after / before) : 0;
}

/** The rows of a method that save something, smallest saving first. */
export const saving_rows = (reading: Reading, form: string, saving: Saving): PlanRow[] =>
  method_rows(reading)
    .filter((row) => row.method === form && saved_share(reading, row, saving) > 0)
    .sort((a, b) => saved_share(reading, a, saving) - saved_share(reading, b, saving));

/** The row whose commands are shown: the row in the address, otherwise the first one that saves something. */
export function chosen_row(reading: Reading): PlanRow | undefined {
  const rows = method_rows(reading);
  const index = index_param(reading.state, "p", rows.length);
  if (index !== undefined) return rows[index];
  return rows.find((row) => saved_share(reading, row, saving_of(reading)) > 0) ?? rows[0];
}
