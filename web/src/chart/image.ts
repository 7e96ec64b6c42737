// A matrix as an image, such as raw weights or cosines between rows.
import type { ChartFields, ColorScale, Size } from "./chart_fields";
import { share_of, vega_color } from "./color_scale";
import { kVegaLiteSchema, vega_data } from "./csv";
import { counted, format_number } from "./number_format";
import { png_address } from "./png";
import { kFont, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { plain } from "./rich_text";

export interface ImageChart extends ChartFields {
  kind: "image";
  values: ArrayLike<number>; // rows × columns, in row-major order
  rows: number;
  columns: number;
  shape: readonly [number, number]; // shape of the original matrix, if values are means over blocks
  scale: ColorScale;
  heads?: { along: "rows" | "columns"; count: number }; // ticks at the edge separate heads
}

const kTallest = 460; // pixels

export function image_layout(chart: ImageChart, { width }: Size) {
  const [rows, columns] = chart.shape;
  const room = width - 40;
  // Keeps long matrices readable: no side is drawn shorter than a third of the other.
  const ratio = Math.min(3, Math.max(1 / 3, rows / columns));
  const wide = Math.min(room, kTallest / ratio);
  const plot = { x: 34, y: 20, width: wide, height: wide * ratio };
  return { width, height: plot.y + plot.height + 10, plot };
}

export function image_words(chart: ImageChart, x: number, y: number, width: number): string | undefined {
  const { plot } = image_layout(chart, { width });
  const row = Math.floor((chart.rows * (y - plot.y)) / plot.height);
  const column = Math.floor((chart.columns * (x - plot.x)) / plot.width);
  if (row < 0 || row >= chart.rows || column < 0 || column >= chart.columns) return undefined;
  const lines = (index: number, count: number, size: number) => {
    const [from, to] = [Math.floor((size * index) / count), Math.floor((size * (index + 1)) / count) - 1];
    return to > from ? `s ${from}–${to}` : ` ${from}`;
  };
  const place = `row${lines(row, chart.rows, chart.shape[0])}, column${lines(column, chart.columns, chart.shape[1])}`;
  return `${place}: ≈ ${format_number(chart.values[row * chart.columns + column], "tick")}`;
}

export function draw_image(chart: ImageChart, theme: Theme, size: Size): Tree {
  const { width, height, plot } = image_layout(chart, size);
  const diverging = chart.scale.kind === "diverging";
  const pixels = Uint8Array.from({ length: chart.rows * chart.columns }, (_, index) => {
    const share = share_of(chart.scale, chart.values[index] ?? 0);
    return Math.round(255 * (diverging ? (share + 1) / 2 : share));
  });
  const label = { "font-size": 11, fill: theme.faint };
  return s(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": kFont,
      role: "img",
      "aria-label": chart.label ?? `${plain(chart.title)}: ${counted(chart.shape[0], "row")}, ${counted(chart.shape[1], "column")}`,
    },
    s("image", {
      ...plot,
      preserveAspectRatio: "none",
      "image-rendering": "pixelated",
      href: png_address(pixels, chart.columns, chart.rows, diverging ? theme.diverging : theme.sequential),
    }),
    head_ticks(chart, plot, theme),
    s("text", { x: plot.x, y: plot.y - 8, ...label }, "0"),
    s("text", { x: plot.x + plot.width, y: plot.y - 8, "text-anchor": "end", ...label }, counted(chart.shape[1], "column")),
    s("text", { x: plot.x - 8, y: plot.y + 9, "text-anchor": "end", ...label }, "0"),
    s("text", { x: plot.x - 8, y: plot.y + plot.height, "text-anchor": "end", ...label }, String(chart.shape[0])),
  );
}

function head_ticks({ heads }: ImageChart, plot: { x: number; y: number; width: number; height: number }, theme: Theme): Tree[] {
  if (!heads) return [];
  return Array.from({ length: heads.count + 1 }, (_, index) => {
    const share = index / heads.count;
    const [across, down] = [plot.x + share * plot.width, plot.y + share * plot.height];
    return s(
      "line",
      heads.along === "rows"
        ? { x1: plot.x - 5, x2: plot.x - 1, y1: down, y2: down, stroke: theme.faint }
        : { x1: across, x2: across, y1: plot.y - 5, y2: plot.y - 1, stroke: theme.faint },
    );
  });
}

export function image_to_vega_lite(chart: ImageChart, theme: Theme): object {
  const rows = Array.from({ length: chart.rows * chart.columns }, (_, index) => [
    Math.floor(index / chart.columns),
    index % chart.columns,
    chart.values[index],
  ]);
  const axis = { type: "ordinal", axis: { values: [] } };
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["row", "column", "value"], [], rows),
    width: 400,
    height: (400 * chart.shape[0]) / chart.shape[1],
    mark: "rect",
    encoding: {
      y: { field: "row", ...axis },
      x: { field: "column", ...axis },
      color: { field: "value", type: "quantitative", title: null, scale: vega_color(theme, chart.scale) },
    },
  };
}
