// Scatter plots with one point per head.
import { axes, axis_room, scale_of, vega_axis, type Axis } from "./axis";
import type { ChartFields, Size } from "./chart_fields";
import { kVegaLiteSchema, vega_data } from "./csv";
import { format_number } from "./number_format";
import { color_of, kFont, type Color, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { plain } from "./rich_text";

export interface ScatterPoint {
  x: number;
  y: number;
  color: Color;
  label: string; // "L2H9"
  chosen?: boolean;
  size?: number; // area relative to the largest point, 0 to 1; equal sizes by default
}

export interface ScatterChart extends ChartFields {
  kind: "scatter";
  x: Axis;
  y: Axis;
  points: ScatterPoint[];
  zero?: boolean; // lines through x = 0 and y = 0
  layers?: number; // number of layers, if points are colored by layer
  height?: number;
}

export function scatter_layout(chart: ScatterChart, { width, height }: Size) {
  const total = height ?? chart.height ?? Math.max(260, Math.min(420, width * 0.5));
  const left = axis_room(chart.y, total - 62);
  const plot = { x: left, y: 24, width: Math.max(60, width - left - 12), height: total - 62 };
  return {
    width,
    height: total,
    plot,
    x: scale_of(chart.x, [plot.x, plot.x + plot.width]),
    y: scale_of(chart.y, [plot.y + plot.height, plot.y]),
  };
}

export const point_words = (chart: ScatterChart, point: ScatterPoint): string =>
  `${point.label}: ${chart.x.title} ${format_number(point.x, chart.x.format ?? "tick")}, ${chart.y.title} ` +
  `${format_number(point.y, chart.y.format ?? "tick")}`;

const radius_of = ({ size, chosen }: ScatterPoint): number =>
  size === undefined ? (chosen ? 6 : 4.5) : Math.max(chosen ? 4 : 2.5, 11 * Math.sqrt(size));

export function draw_scatter(chart: ScatterChart, theme: Theme, size: Size): Tree {
  const { width, height, plot, x, y } = scatter_layout(chart, size);
  const right = plot.x + plot.width;
  const bottom = plot.y + plot.height;
  const inside = ([low, high]: readonly [number, number]) => low <= 0 && high >= 0;
  // The selected point is drawn last, on top of the others.
  const order = [...chart.points.entries()].sort(([, a], [, b]) => Number(a.chosen ?? false) - Number(b.chosen ?? false));
  return s(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": kFont,
      role: "img",
      "aria-label": chart.label ?? `${plain(chart.title)}. ${chart.points.length} points`,
    },
    axes(chart.x, chart.y, plot, theme),
    chart.zero && inside(chart.x.domain) && s("line", { x1: x(0), x2: x(0), y1: plot.y, y2: bottom, stroke: theme.faint }),
    chart.zero && inside(chart.y.domain) && s("line", { x1: plot.x, x2: right, y1: y(0), y2: y(0), stroke: theme.faint }),
    order.map(([index, point]) =>
      s("circle", {
        "data-point": index,
        cx: x(point.x),
        cy: y(point.y),
        r: radius_of(point),
        fill: color_of(theme, point.color),
        stroke: point.chosen ? theme.ink : theme.ground,
        "stroke-width": point.chosen ? 2 : 1,
      }),
    ),
  );
}

export function scatter_to_vega_lite(chart: ScatterChart, theme: Theme): object {
  const rows = chart.points.map((point) => [point.x, point.y, point.label, color_of(theme, point.color)]);
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["x", "y", "label", "color"], ["label", "color"], rows),
    width: 480,
    height: 320,
    mark: { type: "point", filled: true, opacity: 1, size: 60 },
    encoding: {
      x: { field: "x", ...vega_axis(chart.x) },
      y: { field: "y", ...vega_axis(chart.y) },
      color: { field: "color", type: "nominal", scale: null },
      tooltip: { field: "label", type: "nominal" },
    },
  };
}
