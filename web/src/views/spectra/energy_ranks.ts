// Energy ranks by layer.
import { counted_axis } from "../../chart/axis";
import type { Series } from "../../chart/chart_fields";
import type { Line, LinesChart } from "../../chart/lines";
import { matrix_words } from "../../chart/rich_text";
import { at_threshold, matrices_of, rows_of } from "../../data/report";
import type { SpectrumRow } from "../../data/report_file";
import type { Reading } from "../../shaping/reading";
import { threshold_words } from "../../shaping/shared_words";

/** Energy rank by layer, one panel per threshold of the report. */
export function components_chart({ report, model }: Reading): LinesChart {
  const matrices = matrices_of(report, "spectrum", model.name);
  const whole = rows_of(report, "spectrum", model.name)
    .filter((row) => row.head === null)
    .sort((a, b) => a.layer - b.layer);
  const most = Math.max(1, ...whole.map((row) => row.max_possible_rank));
  const line = (series: string, rows: readonly SpectrumRow[], ranks: "energy_rank" | "random_energy_rank", threshold: number): Line => ({
    series,
    x: rows.map((row) => row.layer),
    y: rows.map((row) => at_threshold(row[ranks] ?? undefined, threshold) ?? null),
  });
  const series: Series[] = [
    ...matrices.map((matrix) => ({ key: matrix, label: matrix_words(matrix), color: { role: matrix } })),
    { key: "null", label: "random", color: "null" },
  ];
  return {
    kind: "lines",
    name: "spectra-components",
    title: "Energy rank by layer",
    note: "Number of singular values for each energy threshold, one panel per threshold. Dashed: random matrices of the same shapes.",
    x: counted_axis("layer", model.layers),
    y: { title: "energy rank", scale: "linear", domain: [0, most], integers: true },
    series,
    end_labels: true,
    points: model.layers <= 16,
    panel_height: 280,
    panels: report.file.thresholds.map((threshold) => {
      const of_matrices = matrices.map((matrix) => ({ matrix, rows: whole.filter((row) => row.matrix === matrix) }));
      const nulls = of_matrices.map(({ matrix, rows }) => ({
        ...line("null", rows, "random_energy_rank", threshold),
        label: ["random, shape of ", ...[matrix_words(matrix)].flat()],
      }));
      // Matrices with the same shape have the same baseline.
      const apart = nulls.filter((one, index) => nulls.findIndex((other) => String(other.y) === String(one.y)) === index);
      return {
        title: `${threshold_words(threshold)} of the energy`,
        lines: [...apart, ...of_matrices.map(({ matrix, rows }) => line(matrix, rows, "energy_rank", threshold))],
      };
    }),
  };
}
