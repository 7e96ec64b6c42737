// Distributions by layer: one row per layer, with density as color along the value axis.
import { number_at } from "../data/numbers";
import { axes, scale_of, vega_axis, type Axis } from "./axis";
import type { ChartFields, ColorScale, Size } from "./chart_fields";
import { share_of, vega_color } from "./color_scale";
import { kVegaLiteSchema, vega_data } from "./csv";
import { format_number } from "./number_format";
import { png_address } from "./png";
import { kDash, kFont, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { plain } from "./rich_text";

export interface LayerDensity {
  label: string; // "0": the layer
  density: ArrayLike<number> | null; // one for each bin
  why?: string; // why there is no density: "skipped"; "not in this report" by default
  mean?: number | null;
  std?: number | null; // ticks at mean ± std
}

export interface LayerDensitiesChart extends ChartFields {
  kind: "laminar";
  x: Axis; // its domain is the range shown
  edges: ArrayLike<number>; // bins + 1, equal widths, shared by all rows
  rows: LayerDensity[];
  row_title: string;
  scale: ColorScale; // density scale; "sqrt" makes tails visible
  null_std?: number; // dashed lines at 0 ± this: standard deviation of the random baseline
  row_height?: number;
}

export function layer_densities_layout(chart: LayerDensitiesChart, { width }: Size) {
  const row_height = chart.row_height ?? Math.max(9, Math.min(20, 240 / Math.max(1, chart.rows.length)));
  const plot = { x: 28, y: 6, width: Math.max(60, width - 34), height: chart.rows.length * row_height };
  return { width, height: plot.height + 46, plot, row_height, x: scale_of(chart.x, [plot.x, plot.x + plot.width]) };
}

/** Tooltip at a point of the drawing: a layer's density in a bin, with its mean and standard deviation. */
export function layer_densities_words(chart: LayerDensitiesChart, x: number, y: number, width: number): string | undefined {
  const layout = layer_densities_layout(chart, { width });
  const row = chart.rows[Math.floor((y - layout.plot.y) / layout.row_height)];
  const value = layout.x.invert(x);
  const [low, high] = chart.x.domain;
  if (!row || value < low || value > high) return undefined;
  const place = `${chart.row_title} ${row.label}`;
  if (!row.density) return `${place}: ${row.why ?? "not in this report"}`;
  const bins = chart.edges.length - 1;
  const first = chart.edges[0] ?? 0;
  const bin = Math.floor((bins * (value - first)) / ((chart.edges[bins] ?? 1) - first));
  const [density, from, to] = [row.density[bin], chart.edges[bin], chart.edges[bin + 1]].map((each) => format_number(each, "tick"));
  return (
    `${place}, ${from} to ${to}: density ${density}; mean ${format_number(row.mean, "tick")}, std ` + `${format_number(row.std, "tick")}`
  );
}

export function draw_layer_densities(chart: LayerDensitiesChart, theme: Theme, size: Size): Tree {
  const { width, height, plot, row_height, x } = layer_densities_layout(chart, size);
  const no_lines: Axis = { title: "", scale: "linear", domain: [0, 1], ticks: [] };
  const label = { "font-size": 11, fill: theme.faint };
  const every = Math.ceil(12 / row_height);
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": kFont, role: "img", "aria-label": chart.label ?? in_words(chart) },
    s(
      "svg",
      { x: plot.x, y: plot.y, width: plot.width, height: plot.height },
      picture_of_rows(chart, theme, size),
      chart.rows.map((row, index) => draw_row(row, index * row_height, row_height, plot.width, (value) => x(value) - plot.x, theme)),
      chart.rows.slice(1).map((_, index) =>
        s("line", {
          x1: 0,
          x2: plot.width,
          y1: (index + 1) * row_height,
          y2: (index + 1) * row_height,
          stroke: theme.ground,
          "stroke-width": 1,
        }),
      ),
      chart.null_std !== undefined &&
        [-chart.null_std, chart.null_std].map((value) => {
          const line = { x1: x(value) - plot.x, x2: x(value) - plot.x, y1: 0, y2: plot.height };
          return s(
            "g",
            {},
            s("line", { ...line, stroke: theme.ground, "stroke-opacity": 0.55, "stroke-width": 3 }),
            s("line", { ...line, stroke: theme.ink, "stroke-width": 1.2, "stroke-dasharray": kDash }),
          );
        }),
    ),
    chart.rows.map(
      (row, index) =>
        index % every === 0 &&
        s("text", { x: plot.x - 7, y: plot.y + (index + 0.5) * row_height + 3.8, "text-anchor": "end", ...label }, row.label),
    ),
    axes(chart.x, no_lines, plot, theme),
  );
}

function picture_of_rows(chart: LayerDensitiesChart, theme: Theme, size: Size): Tree | null {
  const { plot, x } = layer_densities_layout(chart, size);
  const bins = chart.edges.length - 1;
  if (bins < 1 || chart.rows.length === 0) return null;
  const pixels = new Uint8Array(bins * chart.rows.length);
  chart.rows.forEach((row, row_index) => {
    for (let bin = 0; bin < bins; ++bin) pixels[row_index * bins + bin] = Math.round(255 * share_of(chart.scale, row.density?.[bin] ?? 0));
  });
  const [first, last] = [x(number_at(chart.edges, 0)), x(number_at(chart.edges, bins))];
  return s("image", {
    x: first - plot.x,
    y: 0,
    width: last - first,
    height: plot.height,
    preserveAspectRatio: "none",
    "image-rendering": "pixelated",
    href: png_address(pixels, bins, chart.rows.length, theme.sequential),
  });
}

/** Ticks at mean ± std, or the reason why the row is empty. `place`: x coordinate of a value. */
function draw_row(
  row: LayerDensity,
  top: number,
  row_height: number,
  width: number,
  place: (value: number) => number,
  theme: Theme,
): Tree | null {
  const middle = top + row_height / 2;
  if (!row.density)
    return s(
      "g",
      {},
      s("rect", { x: 0, y: top, width, height: row_height, fill: theme.ground }),
      s(
        "text",
        { x: width / 2, y: middle + 3.8, "text-anchor": "middle", "font-size": 11, fill: theme.faint },
        `– ${row.why ?? "not in this report"}`,
      ),
    );
  if (typeof row.mean !== "number" || typeof row.std !== "number") return null;
  return s(
    "g",
    {},
    [row.mean - row.std, row.mean + row.std].map((value) => {
      const tick = { x1: place(value), x2: place(value), y1: middle - row_height * 0.3, y2: middle + row_height * 0.3 };
      return s(
        "g",
        {},
        s("line", { ...tick, stroke: theme.ground, "stroke-width": 3.4 }),
        s("line", { ...tick, stroke: theme.ink, "stroke-width": 1.4 }),
      );
    }),
  );
}

function in_words(chart: LayerDensitiesChart): string {
  const rows = chart.rows.map(
    (row) =>
      `${chart.row_title} ${row.label}: ${row.density ? `std ${format_number(row.std, "tick")}` : (row.why ?? "not in this report")}`,
  );
  return `${plain(chart.title)}. ${rows.join(", ")}`;
}

export function layer_densities_to_vega_lite(chart: LayerDensitiesChart, theme: Theme): object {
  const bins = chart.edges.length - 1;
  const rows = chart.rows.flatMap((row) =>
    Array.from({ length: bins }, (_, bin) => [row.label, chart.edges[bin], chart.edges[bin + 1], row.density?.[bin]]),
  );
  const x = vega_axis(chart.x);
  const densities = {
    mark: { type: "rect", clip: true },
    encoding: {
      y: { field: "row", type: "ordinal", sort: null, title: chart.row_title },
      x: { field: "from", ...x },
      x2: { field: "to" },
      color: { field: "density", type: "quantitative", title: "density", scale: vega_color(theme, chart.scale) },
    },
  };
  const nulls = (chart.null_std === undefined ? [] : [-chart.null_std, chart.null_std]).map((value) => ({
    mark: { type: "rule", clip: true, strokeDash: kDash.split(" ").map(Number), color: theme.baseline_line },
    encoding: { x: { datum: value, ...x } },
  }));
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["row", "from", "to", "density"], ["row"], rows),
    width: 320,
    height: { step: 18 },
    ...(nulls.length > 0 ? { layer: [densities, ...nulls] } : densities),
  };
}
