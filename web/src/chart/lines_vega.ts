// Line charts in Vega-Lite.
import { vega_axis } from "./axis";
import { kVegaLiteSchema, vega_data, type CsvValue } from "./csv";
import { cuts, type Side } from "./clipped_lines";
import { column_count, lone_vertices, vertices, type LinesChart } from "./lines";
import { color_of, type Theme } from "./theme";
import { plain } from "./rich_text";

type Row = Readonly<Record<string, CsvValue>>;

// Additional marks: each has a data column with its position, omitted if it has no values.
const kMarks = {
  alone: { type: "point", filled: true, size: 20 },
  chosen: { type: "point", filled: false, size: 150 },
  below: { type: "point", filled: true, size: 40, shape: "triangle-down" },
  above: { type: "point", filled: true, size: 40, shape: "triangle-up" },
} as const;

/** One row per vertex. */
function rows_of(chart: LinesChart): Row[] {
  const ends: Readonly<Record<Side, number>> = { below: Math.min(...chart.y.domain), above: Math.max(...chart.y.domain) };
  return chart.panels.flatMap((panel, panel_index) =>
    panel.lines.flatMap((line, line_index) => {
      const points = vertices(chart, line);
      const lone = new Set(chart.points ? [] : lone_vertices(points));
      const cut = new Map(cuts(chart, line).map(({ index, side }) => [index, side]));
      const series = plain(chart.series.find((each) => each.key === line.series)?.label ?? line.series);
      return points.map((point, index): Row => {
        const [error, side] = [line.error?.[index] ?? 0, cut.get(index)];
        return {
          panel: panel.title ? plain(panel.title) : String(panel_index),
          series,
          line: line_index,
          x: line.x[index],
          y: point?.[1],
          ...(point && line.error ? { low: point[1] - error, high: point[1] + error } : {}),
          ...(point && lone.has(point) ? { alone: point[1] } : {}),
          ...(point && chart.chosen?.series === line.series && chart.chosen.index === index ? { chosen: point[1] } : {}),
          ...(side ? { [side]: ends[side] } : {}),
        };
      });
    }),
  );
}

export function lines_to_vega_lite(chart: LinesChart, theme: Theme): object {
  const rows = rows_of(chart);
  const has = (column: string) => rows.some((row) => row[column] !== undefined);
  const names = ["panel", "series", "line", "x", "y", ...["low", "high", ...Object.keys(kMarks)].filter(has)];
  const labels = chart.series.map((series) => plain(series.label));
  const dashes = chart.series.map((series) => (series.dash ?? (series.color === "null" ? "4 3" : "1 0")).split(" ").map(Number));
  const y = vega_axis(chart.y);
  const encoding = { x: { field: "x", ...vega_axis(chart.x) }, y: { field: "y", ...y } };
  const color = {
    field: "series",
    type: "nominal",
    title: null,
    sort: null,
    scale: { domain: labels, range: chart.series.map((series) => color_of(theme, series.color)) },
  };
  const layer: object[] = [
    {
      mark: { type: "line", clip: true, strokeWidth: 1.5, point: chart.points ?? false },
      encoding: {
        ...encoding,
        color,
        detail: { field: "line" },
        strokeDash: { field: "series", type: "nominal", title: null, sort: null, scale: { domain: labels, range: dashes } },
      },
    },
  ];
  if (has("low"))
    layer.push({
      mark: { type: "rule", clip: true },
      encoding: { ...encoding, y: { field: "low", ...y }, y2: { field: "high" }, color },
    });
  for (const [field, mark] of Object.entries(kMarks))
    if (has(field)) layer.push({ mark, encoding: { ...encoding, y: { field, ...y }, color } });
  if (chart.rule !== undefined)
    layer.push({ mark: { type: "rule", strokeDash: [4, 3], color: theme.baseline_line }, encoding: { y: { datum: chart.rule, ...y } } });
  const data = vega_data(
    names,
    ["panel", "series"],
    rows.map((row) => names.map((name) => row[name])),
  );
  const head = { $schema: kVegaLiteSchema, title: plain(chart.title), data };
  const size = { width: 320, height: 200 };
  return chart.panels.length > 1
    ? {
        ...head,
        facet: { field: "panel", type: "nominal", title: null, sort: null },
        columns: column_count(chart.panels.length, 1200),
        spec: { ...size, layer },
      }
    : { ...head, ...size, layer };
}
