// Size of a LoRA adapter that approximates the change from a base model.
import { rows_of } from "../data/report";
import type { DiffRow } from "../data/report_file";
import type { Reading } from "./reading";

/** Rows of whole matrices. */
export const diff_rows = ({ report, model }: Reading): DiffRow[] => rows_of(report, "diff", model.name).filter((row) => row.head === null);

const elements = ({ shape: [rows = 0, columns = 0] }: DiffRow): number => rows * columns;

export const whole_parameters = (rows: readonly DiffRow[]): number => rows.reduce((sum, row) => sum + elements(row), 0);

/** Parameters of factors with these ranks. A matrix counts in full if its factors are not smaller. */
export function adapter_parameters(rows: readonly DiffRow[], rank_of: (row: DiffRow) => number | undefined): number {
  return rows.reduce((sum, row) => {
    const [outputs = 0, inputs = 0] = row.shape;
    return sum + Math.min((rank_of(row) ?? 0) * (outputs + inputs), elements(row));
  }, 0);
}
