// One attention map: rows are queries, columns are keys, labeled with their tokens.
import { same_shape, weight_of_byte, type MapShape } from "../data/maps";
import type { ChartFields, Size } from "./chart_fields";
import { kVegaLiteSchema, vega_data } from "./csv";
import { counted, format_number } from "./number_format";
import { png_address } from "./png";
import { kFont, kMono, sequential, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { pooled, vega_weight_scale, weight_steps, type WeightColor } from "./attention_colors";
import { one_line, plain } from "./rich_text";

export interface MapChart extends ChartFields {
  kind: "map";
  bytes: Uint8Array; // queries × keys, see data/maps.ts
  shape: MapShape;
  of?: MapShape; // shape of the original map, if a cell covers several tokens
  weights?: Float32Array; // exact weights, if known
  labels?: { queries: readonly string[]; keys: readonly string[] }; // along the axes
  noun?: string; // for a position without a label; "token" by default
  entropy?: readonly number[]; // of each query in nats: bars on the right
  color: WeightColor;
  query?: number; // the row with a frame
  window?: MapWindow; // visible part
}

/** A part of a map: the first query and key, and the number of queries and keys. */
export interface MapWindow extends MapShape {
  query: number;
  key: number;
}

export interface MapLayout {
  width: number;
  height: number;
  plot: { x: number; y: number; width: number; height: number };
  window: MapWindow;
  bars: number; // width of the entropy bars
}

const kGlyph = 0.61; // width of a monospaced glyph, relative to its size
const kLargest = 11; // font size of labels
const kFlattest = 3; // aspect ratio limit: no side is drawn shorter than a third of the other
const kTallest = 900; // pixels
const kWideBars = 44; // pixels; above narrower entropy bars, their label is rotated
const label_room = (labels: readonly string[]) =>
  Math.max(20, Math.max(0, ...labels.map((label) => [...one_line(label)].length)) * kLargest * kGlyph + 8);

export function map_layout(chart: MapChart, { width }: Size): MapLayout {
  const bars = chart.entropy ? Math.min(50, width * 0.08) : 0;
  const left = chart.labels ? Math.min(84, width * 0.13, label_room(chart.labels.queries)) : 0;
  const top = chart.labels ? Math.min(62, Math.max(label_room(chart.labels.keys), bars > 0 && bars <= kWideBars ? 48 : 0)) : 0;
  const tall = Math.min(kFlattest, Math.max(1 / kFlattest, chart.shape.queries / chart.shape.keys));
  const wide = Math.max(40, Math.min(width - left - (bars && bars + 6), kTallest, kTallest / tall));
  return {
    width,
    height: top + wide * tall + 2,
    plot: { x: left, y: top, width: wide, height: wide * tall },
    bars,
    window: chart.window ?? { query: 0, key: 0, ...chart.shape },
  };
}

/** Width and height of a cell. */
const cell_of = ({ plot, window }: MapLayout) => ({ width: plot.width / window.keys, height: plot.height / window.queries });

/** The query and key at a point of the drawing. Undefined outside the map. */
export function map_cell({ plot, window }: MapLayout, x: number, y: number): { query: number; key: number } | undefined {
  const [across, down] = [(x - plot.x) / plot.width, (y - plot.y) / plot.height];
  if (across < 0 || across >= 1 || down < 0 || down >= 1) return undefined;
  return { query: Math.floor(window.query + down * window.queries), key: Math.floor(window.key + across * window.keys) };
}

export const map_weight = ({ weights, bytes, shape }: MapChart, query: number, key: number): number =>
  weights ? (weights[query * shape.keys + key] ?? 0) : weight_of_byte(bytes[query * shape.keys + key] ?? 0);

export function map_words(chart: MapChart, query: number, key: number): string {
  const weight = format_number(map_weight(chart, query, key), chart.weights ? ".3~g" : ".2~g");
  const { shape, of = shape, labels, noun = "token" } = chart;
  if (!same_shape(of, shape)) {
    const span = (index: number, all: number, cells: number) => {
      const [from, to] = [Math.floor((index * all) / cells), Math.max(0, Math.ceil(((index + 1) * all) / cells) - 1)];
      return to > from ? `${noun}s ${from} to ${to}` : `${noun} ${from}`;
    };
    return `${span(query, of.queries, shape.queries)} attending to ${span(key, of.keys, shape.keys)}: at most ≈ ${weight}`;
  }
  const name = (index: number, names?: readonly string[]) => (names ? `“${names[index]}” (${index})` : `${noun} ${index}`);
  return `${name(query, labels?.queries)} attends to ${name(key, labels?.keys)}: ${chart.weights ? "" : "≈ "}${weight}`;
}

// Zooming redraws the same image many times, so images are cached.
const images = new WeakMap<Uint8Array, Map<string, string>>();

export function map_image(bytes: Uint8Array, theme: Theme, color: WeightColor, { queries, keys }: MapShape): string {
  const made = images.get(bytes) ?? new Map<string, string>();
  images.set(bytes, made);
  const key = `${theme.name}/${color}`;
  let image = made.get(key);
  if (!image) {
    const steps = weight_steps(color);
    image = png_address(
      bytes.map((byte) => steps[byte] ?? 0),
      keys,
      queries,
      theme.sequential,
    );
    made.set(key, image);
  }
  return image;
}

export function draw_map(chart: MapChart, theme: Theme, size: Size): Tree {
  const layout = map_layout(chart, size);
  const { plot } = layout;
  return s(
    "svg",
    {
      width: layout.width,
      height: layout.height,
      viewBox: `0 0 ${layout.width} ${layout.height}`,
      "font-family": kFont,
      role: "img",
      "aria-label": chart.label ?? `${plain(chart.title)}: attention of ${shape_words(chart)}`,
    },
    s(
      "svg",
      { ...plot },
      s("rect", { width: plot.width, height: plot.height, fill: sequential(theme, 0) }),
      s("image", { ...map_image_box(chart, layout), href: map_image(chart.bytes, theme, chart.color, chart.shape) }),
    ),
    map_surroundings(chart, layout, theme),
  );
}

function shape_words({ shape, of = shape, noun = "token" }: MapChart): string {
  return of.queries === of.keys ? counted(of.queries, noun) : `${counted(of.queries, noun)} to ${of.keys} source ${noun}s`;
}

/** Position of the whole image relative to the visible part. */
export function map_image_box(
  { shape }: MapChart,
  layout: MapLayout,
): Record<"x" | "y" | "width" | "height", number> & { "image-rendering": string; preserveAspectRatio: string } {
  const [cell, { query, key }] = [cell_of(layout), layout.window];
  // Cells smaller than a pixel are averaged. Nearest-neighbor sampling could miss a diagonal.
  return {
    x: -key * cell.width,
    y: -query * cell.height,
    width: shape.keys * cell.width,
    height: shape.queries * cell.height,
    "image-rendering": Math.min(cell.width, cell.height) < 1 ? "auto" : "pixelated",
    preserveAspectRatio: "none",
  };
}

/** Tokens, entropy bars and query frame: everything except the image that depends on the window. */
export function map_surroundings(chart: MapChart, layout: MapLayout, theme: Theme): Tree {
  return s(
    "g",
    { "data-part": "surroundings", "pointer-events": "none" },
    chart.labels ? axis_labels(chart.labels, chart.shape, layout, theme) : [],
    chart.entropy ? entropy_bars(chart.entropy, (chart.of ?? chart.shape).keys, layout, theme) : [],
    chart.query === undefined ? null : query_frame(chart.query, layout, theme),
  );
}

function query_frame(query: number, layout: MapLayout, theme: Theme): Tree | null {
  const { plot, window, bars } = layout;
  if (query < window.query || query >= window.query + window.queries) return null;
  const { height } = cell_of(layout);
  return s("rect", {
    x: plot.x - 1,
    y: plot.y + (query - window.query) * height - 1,
    width: plot.width + 1 + (bars && bars + 5),
    height: height + 2,
    fill: "none",
    stroke: theme.mark,
    "stroke-width": 1.6,
    "pointer-events": "none",
  });
}

// Labels every token if there is room, otherwise every second, third, …
function axis_labels(
  labels: { queries: readonly string[]; keys: readonly string[] },
  shape: MapShape,
  layout: MapLayout,
  theme: Theme,
): Tree[] {
  const { plot, window } = layout;
  const cell = cell_of(layout);
  const along = (names: readonly string[], first: number, count: number, pixel: number, room: number) => {
    const font = Math.max(8.5, Math.min(kLargest, pixel * 0.95));
    const every = Math.max(1, Math.ceil((font * 1.02) / pixel));
    const style = { "font-family": kMono, "font-size": font, fill: theme.faint, "aria-hidden": "true" };
    return Array.from({ length: count }, (_, index) => index)
      .filter((index) => index % every === 0)
      .map((index) => ({
        place: (index + 0.5) * pixel + font * 0.33,
        style,
        // Cut without an ellipsis, to show one more letter.
        text: [...one_line(names[Math.floor(first) + index] ?? "")].slice(0, Math.floor((room - 6) / (font * kGlyph))).join(""),
      }));
  };
  const down = along(labels.queries, window.query, Math.min(window.queries, shape.queries), cell.height, plot.x);
  const across = along(labels.keys, window.key, Math.min(window.keys, shape.keys), cell.width, plot.y);
  return [
    ...down.map(({ place, style, text }) => s("text", { x: plot.x - 5, y: plot.y + place, "text-anchor": "end", ...style }, text)),
    ...across.map(({ place, style, text }) => {
      const x = plot.x + place;
      return s("text", { x, y: plot.y - 5, transform: `rotate(-90 ${x.toFixed(1)} ${plot.y - 5})`, ...style }, text);
    }),
  ];
}

function entropy_bars(entropy: readonly number[], keys: number, layout: MapLayout, theme: Theme): Tree[] {
  const { plot, window, bars } = layout;
  const most = Math.log(Math.max(2, keys));
  const { height } = cell_of(layout);
  const left = plot.x + plot.width + 6;
  const thick = Math.max(0.6, height - 0.6);
  const path = entropy
    .slice(window.query, window.query + window.queries)
    .map(
      (value, row) => `M${left} ${(plot.y + row * height).toFixed(2)}h${((bars * value) / most).toFixed(2)}v${thick.toFixed(2)}H${left}z`,
    )
    .join("");
  const [x, y] = [left + bars / 2 + 3.5, plot.y - 5];
  const label = { "font-size": 10.5, fill: theme.faint };
  return [
    bars > kWideBars
      ? s("text", { x: left, y: plot.y - 6, ...label }, "entropy")
      : s("text", { x, y, transform: `rotate(-90 ${x.toFixed(1)} ${y})`, ...label }, "entropy"),
    s("path", { d: path, fill: theme.faint, "fill-opacity": 0.75 }),
  ];
}

export function map_to_vega_lite(chart: MapChart, theme: Theme): object {
  const { bytes, shape } = pooled(chart.bytes, chart.shape, 128); // Vega-Lite is too slow for more cells
  const rows: (string | number)[][] = [];
  bytes.forEach((byte, index) => {
    if (byte > 0) rows.push([Math.floor(index / shape.keys), index % shape.keys, weight_of_byte(byte)]);
  });
  const axis = (field: string, count: number) => ({
    field,
    type: "ordinal",
    axis: { values: [] },
    scale: { domain: Array.from({ length: count }, (_, index) => index) },
  });
  const tall = Math.min(kFlattest, Math.max(1 / kFlattest, shape.queries / shape.keys));
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["query", "key", "weight"], [], rows),
    width: Math.min(400, 400 / tall),
    height: Math.min(400, 400 * tall),
    mark: "rect",
    encoding: {
      y: axis("query", shape.queries),
      x: axis("key", shape.keys),
      color: {
        field: "weight",
        type: "quantitative",
        scale: vega_weight_scale(theme, chart.color),
      },
    },
  };
}
