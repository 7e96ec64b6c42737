// Line charts in panels with shared axes, such as spectra by layer or ranks by depth.
import { line as line_path } from "d3-shape";
import { number_at } from "../data/numbers";
import { axes, axis_room, scale_of, type Axis, type Plot, type Scale } from "./axis";
import type { ChartFields, Series, Size } from "./chart_fields";
import { cuts } from "./clipped_lines";
import { format_number } from "./number_format";
import { color_of, kFont, text_color, type Theme } from "./theme";
import { s, short, type Tree } from "./svg_tree";
import { clipped, clipped_words, plain, text_width, tspans, type Words } from "./rich_text";

export interface Line {
  series: string; // key of its series
  x: ArrayLike<number>;
  y: ArrayLike<number | null>; // null breaks the line
  error?: ArrayLike<number | null>; // half the length of an error bar
  label?: Words; // in tooltips, if several lines of a panel have the same series; that of the series by default
}

export interface Panel {
  title?: Words;
  lines: Line[];
  empty?: string; // why there are no lines: "not in this report"
}

export interface LinesChart extends ChartFields {
  kind: "lines";
  x: Axis;
  y: Axis;
  series: Series[];
  panels: Panel[];
  points?: boolean; // a dot at each vertex
  layer_key?: number; // number of layers, if series are layers: a color bar replaces the legend
  end_labels?: boolean; // labels at line ends replace the legend
  chosen?: { series: string; index: number }; // vertex with a ring
  rule?: number; // horizontal dashed line, for a constant baseline
  panel_height?: number; // by default 210 to 300, depending on the width
}

const kBaselineTick = 10; // half the width of a baseline with a single value
const kLongestLabel = 20; // characters at the end of a line

export interface LinesLayout {
  width: number;
  height: number;
  plots: Plot[]; // one per panel
  left: number; // width of the y axis' labels
  x: Scale; // relative to a plot's left edge
  y: Scale; // relative to a plot's upper edge
}

/** Number of columns of small multiples that fit, preferably with full rows. */
export function column_count(panels: number, width: number, least = 250): number {
  const most = Math.max(1, Math.min(panels, Math.floor(width / least)));
  for (let columns = most; columns > most / 2; --columns) if (panels % columns === 0) return columns;
  return most;
}

export function lines_layout(chart: LinesChart, { width }: Size): LinesLayout {
  const columns = column_count(chart.panels.length, width);
  const gap = 26;
  const panel_width = (width - gap * (columns - 1)) / columns;
  const panel = { width: panel_width, height: chart.panel_height ?? Math.round(Math.max(210, Math.min(300, panel_width * 0.56))) };
  const label_width = chart.end_labels
    ? Math.max(0, ...chart.series.map((series) => text_width(clipped(plain(series.label), kLongestLabel), 11) + 10))
    : 4;
  const [top, bottom] = [32, 36];
  const left = axis_room(chart.y, panel.height - top - bottom);
  const plots = chart.panels.map((_, index) => ({
    x: (index % columns) * (panel.width + gap) + left,
    y: Math.floor(index / columns) * (panel.height + 14) + top,
    width: Math.max(60, panel.width - left - label_width),
    height: panel.height - top - bottom,
  }));
  const rows = Math.ceil(chart.panels.length / columns);
  const plot = plots[0] ?? { width: 60, height: 60 };
  return {
    width,
    height: rows * (panel.height + 14),
    plots,
    left,
    x: scale_of(chart.x, [0, plot.width]),
    y: scale_of(chart.y, [plot.height, 0]),
  };
}

const drawable = (axis: Axis, value: number | null | undefined): value is number =>
  value !== null && value !== undefined && Number.isFinite(value) && (axis.scale !== "log" || value > 0);

/** Vertices without a neighbor, which a line would not show. */
export const lone_vertices = (points: readonly ([number, number] | null)[]): [number, number][] =>
  points.filter((point, index): point is [number, number] => point !== null && !points[index - 1] && !points[index + 1]);

/** A vertex of a line as [x, y]; null where the line is broken. */
export function vertex(chart: LinesChart, line: Line, index: number): [number, number] | null {
  const [x, y] = [line.x[index], line.y[index]];
  return drawable(chart.x, x) && drawable(chart.y, y) ? [x, y] : null;
}

export const vertices = (chart: LinesChart, line: Line): ([number, number] | null)[] =>
  Array.from({ length: line.x.length }, (_, index) => vertex(chart, line, index));

export function draw_lines(chart: LinesChart, theme: Theme, size: Size): Tree {
  const layout = lines_layout(chart, size);
  const by_key = new Map(chart.series.map((series) => [series.key, series]));
  const last_row = Math.max(...layout.plots.map((plot) => plot.y));
  return s(
    "svg",
    {
      width: layout.width,
      height: layout.height,
      viewBox: `0 0 ${layout.width} ${layout.height}`,
      "font-family": kFont,
      role: "img",
      "aria-label": chart.label ?? in_words(chart),
    },
    layout.plots.map((plot, index) => {
      const panel = chart.panels[index] ?? { lines: [] };
      const clear = (words: Tree[]) =>
        plot.y === last_row ? words : words.filter((each) => !each.children.includes(`${chart.x.title} →`));
      return s(
        "g",
        {},
        panel.title
          ? s(
              "text",
              { x: plot.x - layout.left + 4, y: plot.y - 18, "font-size": 12.3, "font-weight": 620, fill: theme.ink },
              tspans(panel.title),
            )
          : null,
        clear(axes(chart.x, chart.y, plot, theme)),
        chart.rule === undefined
          ? null
          : s("line", {
              x1: plot.x,
              x2: plot.x + plot.width,
              y1: plot.y + layout.y(chart.rule),
              y2: plot.y + layout.y(chart.rule),
              stroke: theme.baseline_line,
              "stroke-width": 1.2,
              "stroke-dasharray": "4 3",
            }),
        // A nested svg clips lines at the axes.
        s(
          "svg",
          { x: plot.x - 3, y: plot.y - 3, width: plot.width + 7, height: plot.height + 3 },
          s(
            "g",
            { transform: "translate(3 3)" },
            panel.lines.map((line) => draw_line(chart, line, by_key.get(line.series), layout, theme)),
          ),
        ),
        s(
          "g",
          { transform: `translate(${plot.x} ${plot.y})` },
          panel.lines.flatMap((line) => cut_marks(chart, line, by_key.get(line.series), layout, plot, theme)),
        ),
        panel.empty
          ? s(
              "text",
              { x: plot.x + plot.width / 2, y: plot.y + plot.height / 2 + 4, "text-anchor": "middle", "font-size": 12, fill: theme.faint },
              panel.empty,
            )
          : null,
        chart.end_labels ? end_labels(chart, panel, plot, layout, theme) : null,
      );
    }),
  );
}

function draw_line(chart: LinesChart, line: Line, series: Series | undefined, layout: LinesLayout, theme: Theme): Tree {
  const stroke = color_of(theme, series?.color ?? "ink");
  const points = vertices(chart, line);
  const path = line_path<[number, number] | null>()
    .defined((point) => point !== null)
    .x((point) => layout.x(point?.[0] ?? NaN))
    .y((point) => layout.y(point?.[1] ?? NaN))
    .digits(2);
  const is_null = series?.color === "null";
  const dots = chart.points && !is_null ? points.filter((point) => point !== null) : lone_vertices(points);
  return s(
    "g",
    { "data-series": line.series },
    s("path", {
      d: path(points) ?? "",
      fill: "none",
      stroke,
      "stroke-width": is_null ? 1.2 : 1.5,
      "stroke-dasharray": series?.dash ?? (is_null ? "4 3" : null),
      "stroke-linejoin": "round",
    }),
    line.error
      ? points.map((point, index) => {
          const error = line.error?.[index];
          if (!point || !error) return null;
          const place = layout.x(point[0]);
          return s("line", {
            x1: place,
            x2: place,
            y1: layout.y(point[1] - error),
            y2: layout.y(point[1] + error),
            stroke,
            "stroke-width": 1,
          });
        })
      : [],
    dots.map(([x, y]) =>
      is_null
        ? s("line", {
            x1: layout.x(x) - kBaselineTick,
            x2: layout.x(x) + kBaselineTick,
            y1: layout.y(y),
            y2: layout.y(y),
            stroke,
            "stroke-width": 1.2,
            "stroke-dasharray": series.dash ?? "4 3",
          })
        : s("circle", { cx: layout.x(x), cy: layout.y(y), r: 2.2, fill: stroke }),
    ),
    chart.chosen?.series === line.series ? ring(chart.chosen.index, points, layout, stroke) : null,
  );
}

function ring(index: number, points: readonly ([number, number] | null)[], layout: LinesLayout, stroke: string): Tree | null {
  const point = points[index];
  if (!point) return null;
  return s("circle", {
    class: "chosen",
    cx: layout.x(point[0]),
    cy: layout.y(point[1]),
    r: 6,
    fill: "none",
    stroke,
    "stroke-width": 1.6,
  });
}

/** A triangle at the plot edge where a line leaves the axis range. */
function cut_marks(chart: LinesChart, line: Line, series: Series | undefined, layout: LinesLayout, plot: Plot, theme: Theme): Tree[] {
  return cuts(chart, line).map(({ index, side }) => {
    const x = Math.min(plot.width, Math.max(0, layout.x(number_at(line.x, index))));
    const [tip, back] = side === "above" ? [0, 5] : [plot.height, -5];
    return s("path", { "data-cut": side, d: `M${short(x)} ${tip}l-3 ${back}h6z`, fill: color_of(theme, series?.color ?? "ink") });
  });
}

// Labels at line ends, moved apart if they would overlap.
function end_labels(chart: LinesChart, panel: Panel, plot: Plot, layout: LinesLayout, theme: Theme): Tree[] {
  const ends = panel.lines
    .flatMap((line) => {
      const series = chart.series.find((each) => each.key === line.series);
      const last = vertices(chart, line)
        .filter((point) => point !== null)
        .pop();
      const alone = panel.lines.filter((each) => each.series === line.series).length === 1; // several lines would repeat the label
      return series && last && alone ? [{ series, x: plot.x + layout.x(last[0]), y: plot.y + layout.y(last[1]) }] : [];
    })
    .sort((a, b) => a.y - b.y);
  const step = Math.min(12, (plot.height + 8) / Math.max(1, ends.length));
  let highest = -Infinity;
  for (const end of ends) {
    end.y = Math.max(end.y, highest);
    highest = end.y + step;
  }
  let lowest = plot.y + plot.height;
  for (const end of [...ends].reverse()) {
    end.y = Math.min(end.y, lowest);
    lowest = end.y - step;
  }
  return ends.map(({ series, x, y }) =>
    s(
      "text",
      { x: x + 6, y: y + 3.8, "font-size": 11, "font-weight": 560, fill: text_color(theme, series.color) },
      tspans(clipped_words(series.label, kLongestLabel)),
    ),
  );
}

/** Text for screen readers: first and last value of each line. */
function in_words(chart: LinesChart): string {
  const panels = chart.panels.map((panel) => {
    const lines = panel.lines.map((line) => {
      const points = vertices(chart, line).filter((point) => point !== null);
      const series = chart.series.find((each) => each.key === line.series);
      const [first, last] = [points[0], points[points.length - 1]];
      const name = plain(series?.label ?? line.series);
      const value = (point: [number, number]) => format_number(point[1], chart.y.format ?? "tick");
      const cut = cuts(chart, line).length > 0 ? ", partly outside the axis range" : "";
      return first && last ? `${name} from ${value(first)} to ${value(last)}${cut}` : `${name} not drawn`;
    });
    return `${panel.title ? `${plain(panel.title)}: ` : ""}${panel.empty ?? lines.slice(0, 12).join(", ")}`;
  });
  return `${plain(chart.title)}. ${panels.join(". ")}`;
}
