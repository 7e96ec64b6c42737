// Name, unit and meaning of columns, from the field descriptions in the report.
import type { Report } from "./report";
import type { AnalysisId, Field } from "./report_file";

// Analyses whose row kind has another name.
const kKinds: Partial<Record<AnalysisId, string>> = { overlap: "head_overlap", attention_excluding_first: "attention" };

export function fields_of(report: Report, id: AnalysisId): Field[] {
  return report.file.fields[kKinds[id] ?? id] ?? [];
}

export function field(report: Report, id: AnalysisId, name: string): Field | undefined {
  return fields_of(report, id).find((each) => each.name === name);
}
