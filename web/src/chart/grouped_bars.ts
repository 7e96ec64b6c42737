// Grouped bars from 0, up or down, such as ablation effects of the components of each layer.
import { range } from "../data/numbers";
import { axes, axis_room, scale_of, vega_axis, type Axis } from "./axis";
import type { ChartFields, Series, Size } from "./chart_fields";
import { kVegaLiteSchema, vega_data } from "./csv";
import { format_number } from "./number_format";
import { color_of, kFont, text_color, type Theme } from "./theme";
import { s, short, type Tree } from "./svg_tree";
import { plain } from "./rich_text";

/** One bar in each group. */
export interface Columns {
  series: string;
  heights: ArrayLike<number | null>;
  errors?: ArrayLike<number | null>; // half the length of a whisker
  intervals?: ArrayLike<readonly [number, number] | null>; // ends of a whisker, in place of errors
  gray?: ArrayLike<boolean>; // not significantly different from 0
}

export interface GroupedBarsChart extends ChartFields {
  kind: "columns";
  groups: { title: string; count: number }; // numbered from 0
  y: Axis; // includes 0; higher bars are clipped at its end and labeled with their value
  series: Series[];
  columns: Columns[];
}

/** Ends of the whisker of one bar. */
function whisker_of({ heights, errors, intervals }: Columns, group: number): readonly [number, number] | undefined {
  const [value, error, interval] = [heights[group], errors?.[group], intervals?.[group]];
  if (interval) return interval;
  return typeof value === "number" && typeof error === "number" ? [value - error, value + error] : undefined;
}

/** The upper or lower end of a bar and its whisker. */
function end_of(columns: Columns, group: number, side: 1 | -1): number {
  const [value, whisker] = [columns.heights[group] ?? 0, whisker_of(columns, group) ?? [0, 0]];
  return side * Math.max(side * value, side * whisker[0], side * whisker[1]);
}

/** From 0 to the highest whisker. Bars much higher than all others are clipped at 1.5 times the height of the others. */
export function grouped_bars_axis(title: string, groups: number, columns: readonly Columns[]): Axis {
  const ends = (side: 1 | -1) => range(groups).map((group) => columns.map((each) => end_of(each, group, side)));
  const descending = (numbers: readonly number[]) => [...numbers].sort((a, b) => b - a);
  const of_groups = descending(ends(1).map((group) => Math.max(0, ...group)));
  const most = of_groups[0] ?? 0;
  const next = of_groups[1] || (descending(ends(1).flat())[1] ?? 0);
  const top = next > 0 && most > 3 * next ? 1.5 * next : most;
  return { title, scale: "linear", domain: [Math.min(0, ...ends(-1).flat()), Math.max(top, 1e-3)] };
}

const is_cut = ({ y }: GroupedBarsChart, columns: Columns, group: number): boolean => (columns.heights[group] ?? 0) > y.domain[1];
const has_cut = (chart: GroupedBarsChart): boolean =>
  chart.columns.some((columns) => range(chart.groups.count).some((group) => is_cut(chart, columns, group)));

/** Caption for clipped bars. Undefined if there are none. */
export const cut_columns_words = (chart: GroupedBarsChart): string | undefined =>
  has_cut(chart) ? "▴: bar clipped; its value is written next to it." : undefined;

const label_of = (chart: GroupedBarsChart, columns: Columns): string =>
  plain(chart.series.find(({ key }) => key === columns.series)?.label ?? columns.series);

/** Tooltip: "layer 3, MLP: loss increase (nats) 0.043 ± 0.012". */
export function column_words(chart: GroupedBarsChart, group: number, index: number): string | undefined {
  const columns = chart.columns[index];
  if (!columns) return undefined;
  const [error, interval] = [columns.errors?.[group], columns.intervals?.[group]];
  const number = (value: number | null | undefined) => format_number(value, chart.y.format ?? "tick");
  return (
    `${chart.groups.title} ${group}, ${label_of(chart, columns)}: ${chart.y.title} ${number(columns.heights[group])}` +
    (typeof error === "number" ? ` ± ${number(error)}` : "") +
    (interval ? `, 95% interval ${number(interval[0])} to ${number(interval[1])}` : "") +
    (columns.gray?.[group] ? " (not significantly different from 0)" : "")
  );
}

export function draw_grouped_bars(chart: GroupedBarsChart, theme: Theme, { width, height = 240 }: Size): Tree {
  const left = axis_room(chart.y, height - 62);
  const plot = { x: left, y: 24, width: Math.max(60, width - left - 12), height: height - 62 };
  const across: Axis = { title: chart.groups.title, scale: "linear", domain: [-0.5, chart.groups.count - 0.5], integers: true };
  const y = scale_of(chart.y, [plot.y + plot.height, plot.y]);
  const x = scale_of(across, [plot.x, plot.x + plot.width]);
  const room = plot.width / Math.max(1, chart.groups.count);
  const step = Math.min(32, (0.76 * room) / Math.max(1, chart.columns.length));
  const thick = step > 5 ? step - 1.5 : 0.9 * step;
  const [low, high] = chart.y.domain;
  const left_of = (group: number, index: number) => x(group) + (index - chart.columns.length / 2) * step;
  const cut: Tree[] = [];
  const bars = chart.columns.map((columns, index) => {
    const series = chart.series.find(({ key }) => key === columns.series);
    const color = series?.color ?? "accent";
    return s(
      "g",
      { "data-series": columns.series },
      range(chart.groups.count)
        .map((group) => {
          const value = columns.heights[group];
          if (value === null || value === undefined || !Number.isFinite(value)) return null;
          const start = left_of(group, index);
          const middle = start + step / 2;
          const [from, to] = [y(0), y(Math.min(high, Math.max(low, value)))];
          const ends = is_cut(chart, columns, group) ? undefined : whisker_of(columns, group);
          if (is_cut(chart, columns, group)) {
            const at_left = group < chart.groups.count / 2;
            cut.push(
              s("path", { "data-cut": "above", d: `M${short(middle)} ${plot.y}l-4 6h8z`, fill: theme.ground }),
              s(
                "text",
                {
                  x: at_left ? left_of(group, chart.columns.length) + 5 : left_of(group, 0) - 5,
                  y: plot.y + 10 + 13 * (cut.length / 2),
                  "text-anchor": at_left ? "start" : "end",
                  "font-size": 11,
                  fill: text_color(theme, color),
                },
                `▴ ${label_of(chart, columns)} ${format_number(value, ".2f")}`,
              ),
            );
          }
          return [
            s("rect", {
              x: start + (step - thick) / 2,
              y: Math.min(from, to),
              width: thick,
              height: Math.abs(from - to),
              fill: columns.gray?.[group] ? theme.baseline_line : color_of(theme, color),
            }),
            ends && ends[0] < ends[1] ? whisker(middle, y(ends[0]), y(ends[1]), Math.min(3.5, thick / 3), theme) : null,
            // The full height reacts to the pointer, because low bars are hard to hit.
            s("rect", {
              "data-row": group,
              "data-column": index,
              x: start,
              y: plot.y,
              width: step,
              height: plot.height,
              fill: "none",
              "pointer-events": "all",
            }),
          ];
        })
        .flat(),
    );
  });
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": kFont, role: "img", "aria-label": chart.label ?? in_words(chart) },
    axes(across, chart.y, plot, theme),
    bars,
    s("line", { x1: plot.x, x2: plot.x + plot.width, y1: y(0), y2: y(0), stroke: theme.faint }),
    cut,
  );
}

function whisker(x: number, from: number, to: number, half: number, theme: Theme): Tree {
  const [low, high] = [short(from), short(to)];
  const cap = (at: string) => `M${short(x - half)} ${at}H${short(x + half)}`;
  return s("path", { "data-whisker": 1, d: `M${short(x)} ${low}V${high}${cap(low)}${cap(high)}`, fill: "none", stroke: theme.ink });
}

/** Text for screen readers: the largest value of each series. */
function in_words(chart: GroupedBarsChart): string {
  const words = chart.columns.map((columns) => {
    const heights = Array.from(columns.heights, (height) => height ?? -Infinity);
    const most = Math.max(...heights);
    const name = label_of(chart, columns);
    if (!Number.isFinite(most)) return `${name}: no values`;
    return `${name}: maximum ${format_number(most, chart.y.format ?? "tick")} in ${chart.groups.title} ${heights.indexOf(most)}`;
  });
  return `${plain(chart.title)}, ${chart.y.title}. ${words.join(", ")}`;
}

export function grouped_bars_to_vega_lite(chart: GroupedBarsChart, theme: Theme): object {
  const labels = chart.series.map(({ label }) => plain(label));
  const rows = chart.columns.flatMap((columns) =>
    range(chart.groups.count).map((group) => {
      const value = columns.heights[group];
      const cut = is_cut(chart, columns, group);
      const ends = cut ? undefined : whisker_of(columns, group);
      return [
        group,
        label_of(chart, columns),
        value,
        columns.gray?.[group] ? "yes" : "no",
        ends?.[0] ?? null,
        ends?.[1] ?? null,
        cut && typeof value === "number" ? format_number(value, ".2f") : "",
      ];
    }),
  );
  const x = { field: "group", type: "ordinal", title: chart.groups.title, axis: { labelAngle: 0 } };
  const beside = { field: "series", sort: labels };
  const y = vega_axis(chart.y);
  const place = { x, xOffset: beside };
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["group", "series", "height", "gray", "low", "high", "cut"], ["series", "gray", "cut"], rows),
    width: 420,
    height: 200,
    layer: [
      {
        mark: { type: "bar", clip: true },
        encoding: {
          ...place,
          y: { field: "height", ...y, stack: null },
          color: {
            condition: { test: "datum.gray === 'yes'", value: theme.baseline_line },
            field: "series",
            type: "nominal",
            title: null,
            sort: null,
            scale: { domain: labels, range: chart.series.map(({ color }) => color_of(theme, color)) },
          },
        },
      },
      ...(chart.columns.some(({ errors, intervals }) => errors ?? intervals)
        ? [{ mark: { type: "rule", clip: true }, encoding: { ...place, y: { field: "low", ...y }, y2: { field: "high" } } }]
        : []),
      ...(has_cut(chart)
        ? [
            {
              mark: { type: "text", baseline: "bottom" },
              encoding: { ...place, y: { datum: chart.y.domain[1], ...y }, text: { field: "cut" } },
            },
          ]
        : []),
    ],
  };
}
