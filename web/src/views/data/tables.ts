// Rows of an analysis as a table of text and numbers, one column per scalar value.
import { csv, type CsvValue } from "../../chart/csv";
import { field } from "../../data/fields";
import { analysis, type Report } from "../../data/report";
import type { AnalysisId } from "../../data/report_file";

export interface Column {
  path: string; // "energy_rank.0.9"
  heading: string;
  meaning: string; // with its unit
  text: boolean;
}

export interface Table {
  columns: Column[];
  rows: CsvValue[][];
}

type Nested = Readonly<Record<string, unknown>>;
const is_nested = (value: unknown): value is Nested => typeof value === "object" && value !== null && !Array.isArray(value);
// Arrays are stored in separate blocks, and a cell cannot show them.
const is_slice = (value: Nested) => "at" in value && "length" in value;

function flattened(row: Nested, path: string[], out: Map<string, CsvValue>): void {
  for (const [name, value] of Object.entries(row)) {
    const here = [...path, name];
    if (is_nested(value)) {
      if (!is_slice(value) && !("edges" in value)) flattened(value, here, out);
    } else if (Array.isArray(value)) {
      if (value.length <= 2 && value.every((each) => typeof each === "number")) out.set(here.join("."), value.join(" × "));
    } else out.set(here.join("."), typeof value === "boolean" ? String(value) : (value as CsvValue));
  }
}

// Names may contain dots ("0.9"), so the longest path with a description is used.
function described(report: Report, id: AnalysisId, path: string): { heading: string; meaning: string } {
  const parts = path.split(".");
  for (let length = parts.length; length > 0; --length) {
    const name = parts.slice(0, length).join(".");
    const found = field(report, id, name);
    if (!found) continue;
    const rest = parts.slice(length).join(".");
    return {
      heading: `${name.replace(/_/g, " ").replace(/\./g, " ")}${rest ? ` ${rest}` : ""}`,
      meaning: found.meaning + (found.unit ? ` (${found.unit})` : ""),
    };
  }
  return { heading: path.replace(/_/g, " "), meaning: "" };
}

export function table_of(report: Report, id: AnalysisId): Table {
  const flat = (analysis(report, id)?.rows ?? []).map((row) => {
    const out = new Map<string, CsvValue>();
    flattened(row as unknown as Nested, [], out);
    return out;
  });
  const paths = [...new Set(flat.flatMap((row) => [...row.keys()]))];
  return {
    columns: paths.map((path) => ({ path, ...described(report, id, path), text: flat.some((row) => typeof row.get(path) === "string") })),
    rows: flat.map((row) => paths.map((path) => row.get(path) ?? null)),
  };
}

/** Rows with the search text in any cell, sorted by a column. Missing values come last in both directions. */
export function arranged(table: Table, search: string, order: { column: number; down: boolean } | undefined): CsvValue[][] {
  const wanted = search.trim().toLowerCase();
  const rows = wanted
    ? table.rows.filter((row) =>
        row.some((value) =>
          String(value ?? "")
            .toLowerCase()
            .includes(wanted),
        ),
      )
    : [...table.rows];
  if (!order) return rows;
  const sign = order.down ? -1 : 1;
  return rows.sort((a, b) => {
    const [first, second] = [a[order.column], b[order.column]];
    if (first === null || first === undefined) return second === null || second === undefined ? 0 : 1;
    if (second === null || second === undefined) return -1;
    return (
      sign *
      (typeof first === "number" && typeof second === "number"
        ? first - second
        : String(first) < String(second)
          ? -1
          : String(first) > String(second)
            ? 1
            : 0)
    );
  });
}

export const table_csv = (table: Table): string =>
  csv(
    table.columns.map((column) => column.path),
    table.rows,
  );
