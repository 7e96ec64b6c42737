// A matrix of numbers as an image: raw weights, cosines between rows.
import type { ChartBase, ColourScale, Size } from "./base";
import { share_of, vega_colour } from "./colour_scale";
import { kVegaLiteSchema, vega_data } from "./csv";
import { png_address } from "./png";
import { kFont, type Theme } from "./theme";
import { s, type Tree } from "./tree";
import { plain } from "./words";

export interface ImageChart extends ChartBase {
  kind: "image";
  values: ArrayLike<number>; // rows × columns, row by row
  rows: number;
  columns: number;
  shape: readonly [number, number]; // of the matrix itself, where values are means over bins of it
  scale: ColourScale;
}

export function image_layout(chart: ImageChart, { width }: Size) {
  const [rows, columns] = chart.shape;
  const room = width - 40;
  const scale = Math.min(room / columns, 520 / rows);
  return { width, height: rows * scale + 24, plot: { x: 36, y: 18, width: columns * scale, height: rows * scale } };
}

export function draw_image(chart: ImageChart, theme: Theme, size: Size): Tree {
  const { width, height, plot } = image_layout(chart, size);
  const diverging = chart.scale.kind === "diverging";
  const pixels = Uint8Array.from({ length: chart.rows * chart.columns }, (_, index) => {
    const share = share_of(chart.scale, chart.values[index] ?? 0);
    return Math.round(255 * (diverging ? (share + 1) / 2 : share));
  });
  const label = { "font-size": 11, fill: theme.faint };
  return s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": kFont, role: "img",
    "aria-label": chart.label ?? `${plain(chart.title)}: ${chart.shape[0]} rows, ${chart.shape[1]} columns` },
    s("image", { ...plot, preserveAspectRatio: "none", "image-rendering": "pixelated",
      href: png_address(pixels, chart.columns, chart.rows, diverging ? theme.diverging : theme.sequential) }),
    s("text", { x: plot.x, y: plot.y - 6, ...label }, "0"),
    s("text", { x: plot.x + plot.width, y: plot.y - 6, "text-anchor": "end", ...label }, `${chart.shape[1]} columns`),
    s("text", { x: plot.x - 6, y: plot.y + 9, "text-anchor": "end", ...label }, "0"),
    s("text", { x: plot.x - 6, y: plot.y + plot.height, "text-anchor": "end", ...label }, String(chart.shape[0])));
}

export function image_to_vega_lite(chart: ImageChart, theme: Theme): object {
  const rows = Array.from({ length: chart.rows * chart.columns }, (_, index) =>
    [Math.floor(index / chart.columns), index % chart.columns, chart.values[index]]);
  const axis = { type: "ordinal", axis: { values: [] } };
  return {
    $schema: kVegaLiteSchema, title: plain(chart.title), data: vega_data(["row", "column", "value"], [], rows),
    width: 400, height: (400 * chart.shape[0]) / chart.shape[1], mark: "rect",
    encoding: { y: { field: "row", ...axis }, x: { field: "column", ...axis }, color: { field: "value", type: "quantitative", title: null, scale: vega_colour(theme, chart.scale) } },
  };
}
