// One head compared with all heads: one row per measure, a tick for every head, a dot for the selected one.
import { scale_of, vega_axis, type Axis } from "./axis";
import type { ChartFields, Size } from "./chart_fields";
import { kVegaLiteSchema, vega_data } from "./csv";
import { format_number } from "./number_format";
import { kFont, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { clipped_words, plain, text_width, tspans, type Words } from "./rich_text";

export interface StripPlotRow {
  label: Words;
  axis: Axis; // its format is used for the value
  all: ArrayLike<number | null>;
  value: number | null;
}

export interface StripPlotChart extends ChartFields {
  kind: "dots";
  rows: StripPlotRow[];
}

const kRowHeight = 18;

export function draw_strip_plot(chart: StripPlotChart, theme: Theme, { width }: Size): Tree {
  const height = chart.rows.length * kRowHeight + 4;
  const value_words = (row: StripPlotRow) => format_number(row.value, row.axis.format ?? "tick");
  const label_width = Math.max(
    0,
    ...chart.rows.map((row) => text_width(plain(clipped_words(row.label, 24)), 11.5) + 10 + text_width(value_words(row), 11.5)),
  );
  const track = { x: Math.min(label_width + 8, width * 0.6), width: 0 };
  track.width = width - track.x - 8;
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": kFont, role: "img", "aria-label": chart.label ?? in_words(chart) },
    chart.rows.map((row, index) => {
      const y = index * kRowHeight + 11;
      const x = scale_of(row.axis, [track.x, track.x + track.width]);
      return s(
        "g",
        {},
        s("text", { x: 0, y: y + 3.8, "font-size": 11.5, fill: theme.soft }, tspans(clipped_words(row.label, 24))),
        s(
          "text",
          { x: track.x - 14, y: y + 3.8, "font-size": 11.5, "font-weight": 620, "text-anchor": "end", fill: theme.ink },
          value_words(row),
        ),
        s("line", { x1: track.x, x2: track.x + track.width, y1: y, y2: y, stroke: theme.line }),
        Array.from(
          row.all,
          (value) =>
            value !== null &&
            Number.isFinite(value) &&
            s("line", { x1: x(value), x2: x(value), y1: y - 3.5, y2: y + 3.5, stroke: theme.faint, "stroke-opacity": 0.55 }),
        ),
        row.value !== null && s("circle", { cx: x(row.value), cy: y, r: 4, fill: theme.accent, stroke: theme.ground, "stroke-width": 1.5 }),
      );
    }),
  );
}

const in_words = (chart: StripPlotChart): string =>
  `${plain(chart.title)}. ` +
  chart.rows.map((row) => `${plain(row.label)} ${format_number(row.value, row.axis.format ?? "tick")}`).join(", ");

export function strip_plot_to_vega_lite(chart: StripPlotChart, theme: Theme): object {
  const rows = chart.rows.flatMap((row) => [
    ...Array.from(row.all, (value) => [plain(row.label), value, "heads"]),
    [plain(row.label), row.value, "chosen"],
  ]);
  const marks = { heads: { type: "tick", color: theme.faint }, chosen: { type: "point", filled: true, color: theme.accent, size: 60 } };
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["measure", "value", "which"], ["measure", "which"], rows),
    vconcat: chart.rows.map((row) => ({
      width: 240,
      height: 18,
      transform: [{ filter: { field: "measure", equal: plain(row.label) } }],
      layer: Object.entries(marks).map(([which, mark]) => ({
        transform: [{ filter: { field: "which", equal: which } }],
        mark,
        encoding: { x: { field: "value", ...vega_axis({ ...row.axis, title: plain(row.label) }) } },
      })),
    })),
  };
}
