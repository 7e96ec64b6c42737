// The spectrum of a matrix that does not belong to a model.
import type { LinesChart } from "../../chart/lines";
import { analysis, type Report } from "../../data/report";
import type { SpectrumRow } from "../../data/report_file";
import { kQuantities, random_quantity, spectrum_quantity, type Quantity } from "../../shaping/spectrum_quantity";
import { kNotes, kTitles, spectra_axes, thinned } from "./charts";

/** One chart per quantity; none without singular values. Each row belongs to one file. */
export function array_charts(report: Report): LinesChart[] {
  const rows = analysis(report, "spectrum")?.rows ?? [];
  const charts_of = (row: SpectrumRow): LinesChart[] => kQuantities.flatMap((quantity) => array_chart(report, row, quantity) ?? []);
  return rows.flatMap((row, index) =>
    charts_of(row).map((chart) => (rows.length > 1 ? { ...chart, name: `model-${index}-${chart.name}` } : chart)),
  );
}

function array_chart(report: Report, row: SpectrumRow, quantity: Quantity): LinesChart | undefined {
  const values = spectrum_quantity(report, row, quantity);
  if (!values) return undefined;
  const nulls = random_quantity(report, row, quantity);
  const panels = [{ lines: [...(nulls ? [thinned("null", nulls)] : []), thinned("values", values)] }];
  return {
    kind: "lines",
    name: `spectrum-${quantity}`,
    title: kTitles[quantity],
    note: kNotes[quantity],
    panels,
    series: [
      { key: "values", label: `${row.shape.join("\u202f×\u202f")}`, color: "accent" },
      ...(nulls ? [{ key: "null", label: "random (Gaussian)", color: "null" as const }] : []),
    ],
    ...spectra_axes({ quantity, log_x: quantity === "null", log_y: true }, panels),
    ...(quantity === "null" ? { rule: 1 } : {}),
  };
}
