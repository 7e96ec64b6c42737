// A histogram: filled bars with a dashed baseline outline, or the outlines of several histograms.
import { number_at } from "../data/numbers";
import { axes, axis_room, scale_of, vega_axis, type Axis } from "./axis";
import type { ChartFields, Series, Size } from "./chart_fields";
import { kVegaLiteSchema, vega_data } from "./csv";
import { format_number } from "./number_format";
import { color_of, kDash, kFont, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { plain } from "./rich_text";

export interface Bars {
  series: string;
  edges: ArrayLike<number>; // bins + 1
  heights: ArrayLike<number>;
}

export interface BarsChart extends ChartFields {
  kind: "bars";
  x: Axis;
  y: Axis;
  series: Series[];
  bars: Bars[]; // a single one besides baselines is filled; several are outlines
  height?: number;
}

export function bars_layout(chart: BarsChart, { width, height }: Size) {
  const total = height ?? chart.height ?? 220;
  const left = axis_room(chart.y, total - 56);
  const plot = { x: left, y: 20, width: Math.max(60, width - left - 8), height: total - 56 };
  return { width, height: total, plot, x: scale_of(chart.x, [0, plot.width]), y: scale_of(chart.y, [plot.height, 0]) };
}

const series_of = (chart: BarsChart, bars: Bars) => chart.series.find((series) => series.key === bars.series);
const is_null = (chart: BarsChart, bars: Bars) => series_of(chart, bars)?.color === "null";
const filled = (chart: BarsChart) => chart.bars.filter((bars) => !is_null(chart, bars)).length === 1;

/** Tooltip for the bar at a point of the drawing. */
export function bars_words(chart: BarsChart, x: number, y: number, width: number): string | undefined {
  const { plot, x: across } = bars_layout(chart, { width });
  if (x < plot.x || x > plot.x + plot.width || y < plot.y || y > plot.y + plot.height) return undefined;
  const value = across.invert(x - plot.x);
  const words = chart.bars
    .filter((bars) => !is_null(chart, bars))
    .flatMap((bars) => {
      const bin = Array.from(bars.edges).findIndex((edge, index) => edge <= value && value < (bars.edges[index + 1] ?? -Infinity));
      const [from, to, height] = [bars.edges[bin], bars.edges[bin + 1], bars.heights[bin]].map((each) => format_number(each, "tick"));
      return bin < 0 ? [] : [`${plain(series_of(chart, bars)?.label ?? bars.series)}, ${from} to ${to}: ${chart.y.title} ${height}`];
    });
  return words.join("; ") || undefined;
}

export function draw_bars(chart: BarsChart, theme: Theme, size: Size): Tree {
  const { width, height, plot, x, y } = bars_layout(chart, size);
  const floor = chart.y.scale === "log" ? Math.min(...chart.y.domain) : 0;
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": kFont, role: "img", "aria-label": chart.label ?? in_words(chart) },
    axes(chart.x, chart.y, plot, theme),
    s(
      "svg",
      { x: plot.x, y: plot.y, width: plot.width, height: plot.height },
      chart.bars.map((bars) => {
        const series = series_of(chart, bars);
        const color = color_of(theme, series?.color ?? "accent");
        let path = `M${x(bars.edges[0] ?? 0).toFixed(2)} ${y(floor).toFixed(2)}`;
        Array.from(bars.heights).forEach((height, bin) => {
          path += `V${y(Math.max(floor, height)).toFixed(2)}H${x(number_at(bars.edges, bin + 1)).toFixed(2)}`;
        });
        path += `V${y(floor).toFixed(2)}`;
        const fill = filled(chart) && !is_null(chart, bars);
        return s("path", {
          "data-series": bars.series,
          d: path,
          fill: fill ? color : "none",
          "fill-opacity": fill ? 0.22 : null,
          stroke: color,
          "stroke-width": 1.2,
          "stroke-dasharray": series?.dash ?? (is_null(chart, bars) ? kDash : null),
        });
      }),
    ),
  );
}

function in_words(chart: BarsChart): string {
  const bars = chart.bars
    .filter((each) => !is_null(chart, each))
    .map((each) => {
      const heights = Array.from(each.heights);
      const top = heights.indexOf(Math.max(...heights));
      return (
        `${plain(series_of(chart, each)?.label ?? each.series)}: maximum between ${format_number(each.edges[top], "tick")} and ` +
        `${format_number(each.edges[top + 1], "tick")}`
      );
    });
  return `${plain(chart.title)}. ${bars.join(", ")}`;
}

export function bars_to_vega_lite(chart: BarsChart, theme: Theme): object {
  const rows = chart.bars.flatMap((bars) => {
    const label = plain(series_of(chart, bars)?.label ?? bars.series);
    return Array.from(bars.heights, (height, bin) => [label, bars.edges[bin], bars.edges[bin + 1], height]);
  });
  const alone = chart.bars.length === 1;
  const labels = chart.series.map((series) => plain(series.label));
  const dashes = chart.series.map((series) => (series.dash ?? (series.color === "null" ? kDash : "1 0")).split(" ").map(Number));
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["series", "from", "to", "height"], ["series"], rows),
    width: 320,
    height: 200,
    mark: alone ? { type: "rect", clip: true } : { type: "line", interpolate: "step-after", clip: true },
    encoding: {
      x: { field: "from", ...vega_axis(chart.x) },
      ...(alone ? { x2: { field: "to" }, y2: { datum: chart.y.scale === "log" ? chart.y.domain[0] : 0 } } : {}),
      y: { field: "height", ...vega_axis(chart.y) },
      color: {
        field: "series",
        type: "nominal",
        title: null,
        sort: null,
        scale: { domain: labels, range: chart.series.map((series) => color_of(theme, series.color)) },
      },
      ...(alone
        ? {}
        : { strokeDash: { field: "series", type: "nominal", title: null, sort: null, scale: { domain: labels, range: dashes } } }),
    },
  };
}
