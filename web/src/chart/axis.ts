import { scaleLinear, scaleLog, scaleSymlog } from "d3-scale";
import { format_number, type Format } from "./number_format";
import type { Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { one_line, text_width } from "./rich_text";

export interface Axis {
  title: string;
  scale: "linear" | "log" | "symlog";
  domain: readonly [number, number];
  format?: Format; // format of ticks and crosshair values; "tick" by default
  ticks?: readonly number[]; // replaces the default ticks
  integers?: boolean; // ticks at integers only
}

/** Axis for indices from 0, such as layers or heads. A single one is centered. */
export const counted_axis = (title: string, count: number): Axis => ({
  title,
  scale: "linear",
  domain: count > 1 ? [0, count - 1] : [-0.5, 0.5],
  integers: true,
});

export interface Scale {
  (value: number): number;
  invert(place: number): number;
}

export function scale_of(axis: Axis, range: readonly [number, number]): Scale {
  const scale = axis.scale === "log" ? scaleLog() : axis.scale === "symlog" ? scaleSymlog() : scaleLinear();
  return scale.domain([...axis.domain]).range([...range]) as unknown as Scale;
}

/** At most about `count` ticks inside the domain. */
export function ticks_of(axis: Axis, count: number): number[] {
  if (axis.ticks) return [...axis.ticks];
  const [low, high] = axis.domain;
  if (axis.scale === "log") return log_ticks(Math.min(low, high), Math.max(low, high), count);
  if (axis.scale === "symlog") return symlog_ticks(low, high);
  const all = scaleLinear().domain([low, high]).ticks(count);
  return axis.integers ? all.filter(Number.isInteger) : all;
}

// Powers of ten, with 2 and 5 between them if there is room, or powers of two for a short range.
function log_ticks(low: number, high: number, count: number): number[] {
  const decades = Math.log10(high / low);
  const inside = (values: number[]) => values.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  const tens = Array.from({ length: Math.ceil(decades) + 2 }, (_, index) => 10 ** (Math.floor(Math.log10(low)) + index));
  const steps = decades > count ? [1] : decades * 3 <= count + 1 || decades <= 1.4 ? [1, 2, 5] : [1];
  const ticks = inside(tens.flatMap((ten) => steps.map((step) => Number((ten * step).toPrecision(12)))));
  const every = Math.ceil(ticks.length / Math.max(1, count + 1));
  return ticks.filter((_, index) => index % every === 0);
}

// 0 and powers of ten on both sides.
function symlog_ticks(low: number, high: number): number[] {
  const decades = Math.ceil(Math.log10(Math.max(10, -low, high)));
  const tens = Array.from({ length: decades + 1 }, (_, power) => 10 ** power);
  return [...tens.map((ten) => -ten).reverse(), 0, ...tens].filter((value) => value >= low && value <= high);
}

export const tick_text = (axis: Axis, value: number): string => format_number(value, axis.format ?? "tick");

/** Width of the y axis' labels, at least that of usual ones, so that the charts of a page line up. */
export const axis_room = (y: Axis, height: number): number =>
  Math.max(44, ...y_ticks(y, height).map((value) => Math.ceil(text_width(tick_text(y, value), 11)) + 8));

const y_ticks = (y: Axis, height: number): number[] => ticks_of(y, Math.max(2, height / 42));

export interface Plot {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Ticks and grid lines of the y axis on the left, and the x axis below. */
export function axes(x: Axis, y: Axis, plot: Plot, theme: Theme, titles = true): Tree[] {
  const across = scale_of(x, [plot.x, plot.x + plot.width]);
  const up = scale_of(y, [plot.y + plot.height, plot.y]);
  const label = { "font-size": 11, fill: theme.faint };
  const bottom = plot.y + plot.height;
  return [
    ...y_ticks(y, plot.height).flatMap((value) => [
      s("line", { x1: plot.x, x2: plot.x + plot.width, y1: up(value), y2: up(value), stroke: theme.line }),
      s("text", { x: plot.x - 7, y: up(value) + 3.8, "text-anchor": "end", ...label }, tick_text(y, value)),
    ]),
    s("line", { x1: plot.x, x2: plot.x + plot.width, y1: bottom, y2: bottom, stroke: theme.faint }),
    ...ticks_of(x, Math.max(2, plot.width / 70)).map((value) => {
      const at_end = across(value) > plot.x + plot.width - 8; // no room to its right
      return s(
        "text",
        { x: across(value) + (at_end ? 4 : 0), y: bottom + 16, "text-anchor": at_end ? "end" : "middle", ...label },
        tick_text(x, value),
      );
    }),
    ...(titles && x.title ? [s("text", { x: plot.x + plot.width, y: bottom + 31, "text-anchor": "end", ...label }, `${x.title} →`)] : []),
    ...(titles && y.title ? [s("text", { x: plot.x + plot.width, y: plot.y - 8, "text-anchor": "end", ...label }, `↑ ${y.title}`)] : []),
  ];
}

/** The axis in Vega-Lite's encoding, without the field name. */
export function vega_axis(axis: Axis): object {
  const anchor = axis.scale === "log" ? {} : { zero: false };
  const whole = axis.integers ? { axis: { tickMinStep: 1 } } : {};
  return {
    type: "quantitative",
    title: one_line(axis.title) || null,
    scale: { type: axis.scale, domain: axis.domain, nice: false, ...anchor },
    ...whole,
  };
}
