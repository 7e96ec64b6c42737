import { scaleSymlog } from "d3-scale";
import type { ColorScale } from "./chart_fields";
import { format_number } from "./number_format";
import { color_of, diverging, kFont, sequential, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { text_width } from "./rich_text";

const kTransforms: Readonly<Record<NonNullable<ColorScale["transform"]>, (value: number) => number>> = {
  linear: (value) => value,
  sqrt: (value) => Math.sign(value) * Math.sqrt(Math.abs(value)),
  log: (value) => Math.log(Math.max(value, Number.MIN_VALUE)),
  symlog: (value) => scaleSymlog().domain([0, 1])(value),
};

/** Position of a value on a scale: 0 to 1, or -1 to +1 if diverging. */
export function share_of(scale: ColorScale, value: number): number {
  const change = kTransforms[scale.transform ?? "linear"];
  const [from, to] = [change(scale.domain[0]), change(scale.domain[1])];
  const share = to === from ? 0 : (change(value) - from) / (to - from);
  const inside = Math.min(1, Math.max(0, share));
  return scale.kind === "diverging" ? 2 * inside - 1 : inside;
}

export function scale_color(theme: Theme, scale: ColorScale, value: number): string {
  return (scale.kind === "diverging" ? diverging : sequential)(theme, share_of(scale, value));
}

/** The scale in Vega-Lite, with an ascending domain. */
export function vega_color(theme: Theme, scale: ColorScale): object {
  const few = Array.from({ length: 9 }, (_, index) =>
    scale.kind === "diverging" ? diverging(theme, index / 4 - 1) : sequential(theme, index / 8),
  );
  const [from, to] = scale.domain;
  const type = { linear: "linear", sqrt: "sqrt", log: "log", symlog: "symlog" }[scale.transform ?? "linear"];
  return from <= to
    ? { type, domain: [from, to], range: few, clamp: true }
    : { type, domain: [to, from], range: few.reverse(), clamp: true };
}

/** Color bar next to a title, labeled with the values at both ends. */
export function color_key(theme: Theme, scale: ColorScale): Tree {
  const [from, to] = scale.domain;
  const [weak, strong] = [format_number(from, scale.format), format_number(to, scale.format)];
  const bar = { x: text_width(weak, 11) + 6, width: 72 };
  const width = Math.ceil(bar.x + bar.width + 6 + text_width(strong, 11));
  const label = { y: 10.5, "font-size": 11, fill: theme.faint };
  const steps = 16;
  return s(
    "svg",
    {
      width,
      height: 14,
      viewBox: `0 0 ${width} 14`,
      "font-family": kFont,
      role: "img",
      "aria-label": `color scale from ${weak} to ${strong}`,
    },
    s("text", { x: bar.x - 6, "text-anchor": "end", ...label }, weak),
    Array.from({ length: steps }, (_, index) => {
      const share = index / (steps - 1);
      const fill = scale.kind === "diverging" ? diverging(theme, 2 * share - 1) : sequential(theme, share);
      const x = bar.x + (index * bar.width) / steps;
      return s("rect", { x, y: 3, width: bar.width / steps + 0.3, height: 8, fill });
    }),
    s("text", { x: bar.x + bar.width + 6, ...label }, strong),
  );
}

/** Color bar for lines colored by layer, labeled with the first and last layer. */
export function layer_key(theme: Theme, layers: number): Tree {
  const steps = Math.min(layers, 8);
  const label = { y: 10.5, "font-size": 11, fill: theme.faint };
  const bar = { x: 46, width: 84 };
  const width = bar.x + bar.width + 22;
  return s(
    "svg",
    {
      width,
      height: 14,
      viewBox: `0 0 ${width} 14`,
      "font-family": kFont,
      role: "img",
      "aria-label": `color scale from layer 0 to layer ${layers - 1}`,
    },
    s("text", { x: bar.x - 6, "text-anchor": "end", ...label }, "layer 0"),
    Array.from({ length: steps }, (_, index) =>
      s("rect", {
        x: bar.x + (index * bar.width) / steps,
        y: 3,
        width: bar.width / steps - 2,
        height: 8,
        fill: color_of(theme, { layer: steps > 1 ? (index * (layers - 1)) / (steps - 1) : 0, of: layers }),
      }),
    ),
    s("text", { x: bar.x + bar.width + 5, ...label }, String(layers - 1)),
  );
}
