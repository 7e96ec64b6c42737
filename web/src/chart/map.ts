// One attention map: queries down, keys across, with their tokens.
import { weight_of_byte } from "../data/maps";
import type { ChartBase, Size } from "./base";
import { kVegaLiteSchema, vega_data } from "./csv";
import { counted, format_number } from "./number_format";
import { png_address } from "./png";
import { kFont, kMono, sequential, type Theme } from "./theme";
import { s, type Tree } from "./tree";
import { pooled, weight_steps, type WeightColour } from "./weights_colour";
import { one_line, plain } from "./words";

export interface MapChart extends ChartBase {
  kind: "map";
  bytes: Uint8Array; // side × side, see data/maps.ts
  side: number;
  of?: number; // tokens of the text, where a cell stands for several
  weights?: Float32Array; // the same, exact, where they are known
  tokens?: readonly string[]; // side of them, written along both axes
  entropy?: readonly number[]; // of each query, nats: bars at the right
  colour: WeightColour;
  query?: number; // its row is framed
  window?: { query: number; key: number; size: number }; // the part that is shown, in tokens
}

export interface MapLayout {
  width: number;
  height: number;
  plot: { x: number; y: number; size: number };
  window: { query: number; key: number; size: number };
  bars: number; // width of the bars of entropy
}

const kGlyph = 0.61; // a monospaced glyph's width, of its size
const kLargest = 11; // size of labels
const label_room = (letters: number) => Math.max(20, letters * kLargest * kGlyph + 8);

export function map_layout(chart: MapChart, { width }: Size): MapLayout {
  const bars = chart.entropy ? Math.min(50, width * 0.08) : 0;
  const longest = Math.max(0, ...(chart.tokens ?? []).map((token) => [...one_line(token)].length));
  const left = chart.tokens ? Math.min(84, width * 0.13, label_room(longest)) : 0;
  const size = Math.max(40, Math.min(width - left - (bars && bars + 6), 900));
  const top = chart.tokens ? Math.min(62, label_room(longest)) : 0;
  return {
    width,
    height: top + size + 2,
    plot: { x: left, y: top, size },
    bars,
    window: chart.window ?? { query: 0, key: 0, size: chart.side },
  };
}

/** The query and key under a point of the drawing; undefined outside the map. */
export function map_cell(layout: MapLayout, x: number, y: number): { query: number; key: number } | undefined {
  const { plot, window } = layout;
  const [across, down] = [(x - plot.x) / plot.size, (y - plot.y) / plot.size];
  if (across < 0 || across >= 1 || down < 0 || down >= 1) return undefined;
  return { query: Math.floor(window.query + down * window.size), key: Math.floor(window.key + across * window.size) };
}

export const map_weight = ({ weights, bytes, side }: MapChart, query: number, key: number): number =>
  weights ? (weights[query * side + key] ?? 0) : weight_of_byte(bytes[query * side + key] ?? 0);

export function map_words(chart: MapChart, query: number, key: number): string {
  const weight = format_number(map_weight(chart, query, key), chart.weights ? ".3~g" : ".2~g");
  const each = chart.of ? chart.of / chart.side : 1;
  if (each > 1) {
    const span = (index: number) => `${Math.floor(index * each)} to ${Math.ceil((index + 1) * each) - 1}`;
    return `tokens ${span(query)} look at tokens ${span(key)}: ≈ ${weight} at most`;
  }
  const name = (index: number) => (chart.tokens ? `“${chart.tokens[index]}” (${index})` : `token ${index}`);
  return `${name(query)} looks at ${name(key)}: ${chart.weights ? "" : "≈ "}${weight}`;
}

// Zooming draws the same image again and again.
const images = new WeakMap<Uint8Array, Map<string, string>>();

export function map_image(bytes: Uint8Array, theme: Theme, colour: WeightColour, side: number): string {
  const made = images.get(bytes) ?? new Map<string, string>();
  images.set(bytes, made);
  const key = `${theme.name}/${colour}`;
  let image = made.get(key);
  if (!image) {
    const steps = weight_steps(colour);
    image = png_address(
      bytes.map((byte) => steps[byte] ?? 0),
      side,
      side,
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
      "aria-label": chart.label ?? `${plain(chart.title)}: attention of ${counted(chart.side, "token")}`,
    },
    s(
      "svg",
      { x: plot.x, y: plot.y, width: plot.size, height: plot.size },
      s("rect", { width: plot.size, height: plot.size, fill: sequential(theme, 0) }),
      s("image", { ...map_image_box(chart, layout), href: map_image(chart.bytes, theme, chart.colour, chart.side) }),
    ),
    map_surroundings(chart, layout, theme),
  );
}

/** Where the whole image lies, seen from the part that is shown. */
export function map_image_box(
  chart: MapChart,
  { plot, window }: MapLayout,
): Record<"x" | "y" | "width" | "height", number> & { "image-rendering": string } {
  const pixel = plot.size / window.size;
  const whole = chart.side * pixel;
  // Smaller than a pixel each, cells are averaged: of a diagonal, one that is picked may be none.
  return {
    x: -window.key * pixel,
    y: -window.query * pixel,
    width: whole,
    height: whole,
    "image-rendering": pixel < 1 ? "auto" : "pixelated",
  };
}

/** Tokens, bars of entropy and the frame of the query: all that changes with the window but the image. */
export function map_surroundings(chart: MapChart, layout: MapLayout, theme: Theme): Tree {
  return s(
    "g",
    { "data-part": "surroundings", "pointer-events": "none" },
    chart.tokens ? token_labels(chart, layout, theme) : [],
    chart.entropy ? entropy_bars(chart.entropy, layout, theme) : [],
    chart.query === undefined ? null : query_frame(chart.query, layout, theme),
  );
}

function query_frame(query: number, { plot, window, bars }: MapLayout, theme: Theme): Tree | null {
  if (query < window.query || query >= window.query + window.size) return null;
  const pixel = plot.size / window.size;
  return s("rect", {
    x: plot.x - 1,
    y: plot.y + (query - window.query) * pixel - 1,
    width: plot.size + 1 + (bars && bars + 5),
    height: pixel + 2,
    fill: "none",
    stroke: theme.mark,
    "stroke-width": 1.6,
    "pointer-events": "none",
  });
}

// As many tokens as can be read: each that has room, else every second, third, …
function token_labels(chart: MapChart, { plot, window }: MapLayout, theme: Theme): Tree[] {
  const pixel = plot.size / window.size;
  const font = Math.max(8.5, Math.min(kLargest, pixel * 0.95));
  const every = Math.max(1, Math.ceil((font * 1.02) / pixel));
  // Cut without an ellipsis, which would take the place of a letter.
  const shown = (index: number, room: number) =>
    [...one_line(chart.tokens?.[index] ?? "")].slice(0, Math.floor((room - 6) / (font * kGlyph))).join("");
  const style = { "font-family": kMono, "font-size": font, fill: theme.faint, "aria-hidden": "true" };
  const out: Tree[] = [];
  const all = Array.from({ length: Math.min(window.size, chart.side) }, (_, index) => index);
  for (const index of all.filter((each) => each % every === 0)) {
    const middle = (index + 0.5) * pixel;
    out.push(
      s(
        "text",
        { x: plot.x - 5, y: plot.y + middle + font * 0.33, "text-anchor": "end", ...style },
        shown(Math.floor(window.query) + index, plot.x),
      ),
    );
    const x = plot.x + middle + font * 0.33;
    out.push(
      s(
        "text",
        { x, y: plot.y - 5, transform: `rotate(-90 ${x.toFixed(1)} ${plot.y - 5})`, ...style },
        shown(Math.floor(window.key) + index, plot.y),
      ),
    );
  }
  return out;
}

function entropy_bars(entropy: readonly number[], { plot, window, bars }: MapLayout, theme: Theme): Tree[] {
  const most = Math.log(Math.max(2, entropy.length));
  const pixel = plot.size / window.size;
  const left = plot.x + plot.size + 6;
  const thick = Math.max(0.6, pixel - 0.6);
  const path = entropy
    .slice(window.query, window.query + window.size)
    .map((value, row) => `M${left} ${(plot.y + row * pixel).toFixed(2)}h${((bars * value) / most).toFixed(2)}v${thick.toFixed(2)}H${left}z`)
    .join("");
  return [
    s("text", { x: left, y: plot.y - 6, "font-size": 10.5, fill: theme.faint }, bars > 44 ? "entropy" : "H"),
    s("path", { d: path, fill: theme.faint, "fill-opacity": 0.75 }),
  ];
}

export function map_to_vega_lite(chart: MapChart, theme: Theme): object {
  const { bytes, side } = pooled(chart.bytes, chart.side, 128); // more cells than that no grammar of marks draws
  const rows: (string | number)[][] = [];
  bytes.forEach((byte, index) => {
    if (byte > 0) rows.push([Math.floor(index / side), index % side, weight_of_byte(byte)]);
  });
  const range = Array.from({ length: 9 }, (_, index) => sequential(theme, index / 8));
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["query", "key", "weight"], [], rows),
    width: 400,
    height: 400,
    mark: "rect",
    encoding: {
      y: { field: "query", type: "ordinal", axis: { values: [] }, scale: { domain: Array.from({ length: side }, (_, index) => index) } },
      x: { field: "key", type: "ordinal", axis: { values: [] }, scale: { domain: Array.from({ length: side }, (_, index) => index) } },
      color: {
        field: "weight",
        type: "quantitative",
        scale:
          chart.colour === "log" ? { type: "log", domain: [2 ** -10, 1], range, clamp: true } : { type: "sqrt", domain: [0, 1], range },
      },
    },
  };
}
