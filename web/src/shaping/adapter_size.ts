// How large an adapter is that holds what was changed.
import { rows_of } from "../data/report";
import type { DiffRow } from "../data/report_file";
import type { Reading } from "./reading";

/** Of whole matrices. */
export const diff_rows = ({ report, model }: Reading): DiffRow[] => rows_of(report, "diff", model.name).filter((row) => row.head === null);

const elements = ({ shape: [rows = 0, columns = 0] }: DiffRow): number => rows * columns;

export const whole_parameters = (rows: readonly DiffRow[]): number => rows.reduce((sum, row) => sum + elements(row), 0);

/** Parameters of factors with these ranks; a whole matrix where they are no smaller. */
export function adapter_parameters(rows: readonly DiffRow[], rank_of: (row: DiffRow) => number | undefined): number {
  return rows.reduce((sum, row) => {
    const [outputs = 0, inputs = 0] = row.shape;
    return sum + Math.min((rank_of(row) ?? 0) * (outputs + inputs), elements(row));
  }, 0);
}
