// The menu of smaller models that a plan has, and what each of them saves.
import { rows_of } from "../data/report";
import type { PlanRow } from "../data/report_file";
import type { Reading } from "./reading";
import { choice_param, index_param } from "./state";

export const kSavings = ["parameters", "cache"] as const;
export type Saving = (typeof kSavings)[number];

export const method_rows = ({ report, model }: Reading): PlanRow[] => rows_of(report, "plan", model.name);

/** The saving along the axis: that of parameters, where the address does not say otherwise. */
export const saving_of = ({ state }: Reading): Saving => choice_param(state, "of", kSavings);

export const rise_percent = (row: { loss: number }): number => 100 * Math.expm1(row.loss);

/** The share that a row saves; 0 where it saves none, or grows. */
export function saved_share({ model }: Reading, row: PlanRow, saving: Saving): number {
  const [before, after] =
    saving === "parameters" ? [model.parameters, row.parameters] : [model.kv_cache_bytes_per_token, row.kv_cache_bytes_per_token];
  return before ? Math.max(0, 1 - after / before) : 0;
}

/** The rows of a form that save something, the least first. */
export const saving_rows = (reading: Reading, form: string, saving: Saving): PlanRow[] =>
  method_rows(reading)
    .filter((row) => row.form === form && saved_share(reading, row, saving) > 0)
    .sort((a, b) => saved_share(reading, a, saving) - saved_share(reading, b, saving));

/** The row whose commands are shown: that of the address, else the first that saves something: it costs least for that. */
export function chosen_row(reading: Reading): PlanRow | undefined {
  const rows = method_rows(reading);
  const index = index_param(reading.state, "p", rows.length);
  if (index !== undefined) return rows[index];
  return rows.find((row) => saved_share(reading, row, saving_of(reading)) > 0) ?? rows[0];
}
