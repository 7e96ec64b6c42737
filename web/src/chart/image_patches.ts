// The model's input image with its patches, overlaid with the attention of a query.
import type { ChartFields, Size } from "./chart_fields";
import { kVegaLiteSchema, vega_data } from "./csv";
import { format_number } from "./number_format";
import { text_on } from "./oklab";
import { png_of_pixels } from "./png";
import { kFont, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { vega_weight_scale, weight_hex, type WeightColor } from "./attention_colors";
import { plain } from "./rich_text";

export interface ImagePatchesChart extends ChartFields {
  kind: "picture";
  pixels: Uint8Array; // RGB bytes in row-major order
  rows: number;
  columns: number;
  patches: { rows: number; columns: number };
  names: readonly string[]; // names of the tokens before the patches, which have no position in the image
  weights: readonly number[]; // attention weights on these tokens, then on the patches in row-major order
  query?: number; // token with a frame
  color: WeightColor;
}

const kVeil = 0.68; // opacity of colors over the image
const kWidest = 620; // pixels
const kChip = 26; // height of a token that is not a patch

export function image_patches_layout(chart: ImagePatchesChart, { width }: Size) {
  const wide = Math.min(width, kWidest, (kWidest * chart.columns) / chart.rows);
  const plot = { x: 0, y: 0, width: wide, height: (wide * chart.rows) / chart.columns };
  const across = Math.max(1, Math.min(chart.names.length, Math.floor(width / 112)));
  const chip = { width: Math.min(168, width / across), height: kChip };
  const lines = Math.ceil(chart.names.length / across);
  return { width, height: plot.height + (lines > 0 ? 10 + lines * (kChip + 6) : 2), plot, chip, across };
}

/** Position of a token in the drawing and in the grid, and its name. */
function token_boxes(chart: ImagePatchesChart, size: Size) {
  const { plot, chip, across } = image_patches_layout(chart, size);
  const { rows, columns } = chart.patches;
  const [wide, high] = [plot.width / columns, plot.height / rows];
  const patches = Array.from({ length: rows * columns }, (_, patch) => {
    const [row, column] = [Math.floor(patch / columns), patch % columns];
    return { token: chart.names.length + patch, row, column, x: column * wide, y: row * high, width: wide, height: high };
  });
  const others = chart.names.map((_, token) => ({
    token,
    row: rows,
    column: token,
    x: (token % across) * chip.width,
    y: plot.height + 10 + Math.floor(token / across) * (chip.height + 6),
    width: chip.width - 6,
    height: chip.height,
  }));
  return { patches, others };
}

export function token_name({ names, patches }: Pick<ImagePatchesChart, "names" | "patches">, token: number): string {
  const patch = token - names.length;
  return patch < 0 ? (names[token] ?? "") : `patch ${Math.floor(patch / patches.columns)},${patch % patches.columns}`;
}

/** The token of a grid cell: patches by row and column, other tokens in a row below. */
export const token_at = ({ names, patches }: ImagePatchesChart, row: number, column: number): number =>
  row === patches.rows ? column : names.length + row * patches.columns + column;

export function image_patches_words(chart: ImagePatchesChart, row: number, column: number): string {
  const token = token_at(chart, row, column);
  return `${token_name(chart, token)}: ≈ ${format_number(chart.weights[token], ".2~g")}`;
}

const pictures = new WeakMap<Uint8Array, string>();

function address_of({ pixels, rows, columns }: ImagePatchesChart): string {
  const address = pictures.get(pixels) ?? png_of_pixels(pixels, columns, rows);
  pictures.set(pixels, address);
  return address;
}

/** Attributes of a token's cell that depend on the query. */
export function image_patches_cell(chart: ImagePatchesChart, token: number, theme: Theme) {
  const framed = token === chart.query;
  return {
    fill: weight_hex(theme, chart.weights[token] ?? 0, chart.color),
    "fill-opacity": token < chart.names.length ? 1 : kVeil,
    stroke: framed ? theme.mark : theme.ground,
    "stroke-width": framed ? 2.5 : 0.5,
    "stroke-opacity": framed ? 1 : 0.5,
    "aria-label": image_patches_words(
      chart,
      token < chart.names.length ? chart.patches.rows : Math.floor((token - chart.names.length) / chart.patches.columns),
      token < chart.names.length ? token : (token - chart.names.length) % chart.patches.columns,
    ),
    "aria-selected": framed ? "true" : "false",
  };
}

export const chip_ink = (chart: ImagePatchesChart, token: number, theme: Theme): string =>
  text_on(weight_hex(theme, chart.weights[token] ?? 0, chart.color));

export function draw_image_patches(chart: ImagePatchesChart, theme: Theme, size: Size): Tree {
  const { width, height, plot } = image_patches_layout(chart, size);
  const { patches, others } = token_boxes(chart, size);
  const cell = (box: (typeof patches)[number]) =>
    s("rect", {
      role: "gridcell",
      x: box.x,
      y: box.y,
      width: box.width,
      height: box.height,
      tabindex: -1,
      "data-row": box.row,
      "data-column": box.column,
      "data-place": box.token,
      ...image_patches_cell(chart, box.token, theme),
    });
  const rows = Array.from({ length: chart.patches.rows }, (_, row) => patches.filter((box) => box.row === row));
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": kFont, role: "group", "aria-label": plain(chart.title) },
    s("image", { ...plot, preserveAspectRatio: "none", href: address_of(chart), "aria-hidden": "true" }),
    s(
      "g",
      { role: "grid", "aria-label": chart.label ?? `${plain(chart.title)}: ${patches.length} patches` },
      [...rows, ...(others.length > 0 ? [others] : [])].map((boxes) => s("g", { role: "row" }, boxes.map(cell))),
    ),
    s(
      "g",
      { "aria-hidden": "true", "pointer-events": "none" },
      others.map((box) =>
        s(
          "text",
          {
            x: box.x + 8,
            y: box.y + box.height / 2 + 4,
            "font-size": 11.5,
            fill: chip_ink(chart, box.token, theme),
            "data-chip": box.token,
          },
          chart.names[box.token],
        ),
      ),
    ),
  );
}

/** Means of pixel blocks, so that the Vega-Lite specification needs no external image. */
function blocks_of({ pixels, rows, columns }: ImagePatchesChart, most: number): { row: number; column: number; color: string }[] {
  const [down, across] = [Math.min(most, rows), Math.min(most, columns)];
  return Array.from({ length: down * across }, (_, block) => {
    const [row, column] = [Math.floor(block / across), block % across];
    const sums = [0, 0, 0];
    let count = 0;
    for (let y = Math.floor((rows * row) / down); y < Math.floor((rows * (row + 1)) / down); ++y)
      for (let x = Math.floor((columns * column) / across); x < Math.floor((columns * (column + 1)) / across); ++x, ++count)
        sums.forEach((sum, channel) => (sums[channel] = sum + (pixels[(y * columns + x) * 3 + channel] ?? 0)));
    const hex = sums.map((sum) =>
      Math.round(sum / Math.max(1, count))
        .toString(16)
        .padStart(2, "0"),
    );
    return { row: (row + 0.5) / down, column: (column + 0.5) / across, color: `#${hex.join("")}` };
  });
}

export function image_patches_to_vega_lite(chart: ImagePatchesChart, theme: Theme): object {
  const { rows, columns } = chart.patches;
  const most = 48;
  const [wide, high] = [400, (400 * chart.rows) / chart.columns];
  const place = (field: string, reverse: boolean) => ({
    field,
    type: "quantitative",
    axis: null,
    scale: { domain: [0, 1], zero: false, nice: false, ...(reverse ? { reverse: true } : {}) },
  });
  const across = { y: place("row", true), x: place("column", false) };
  const cells = Array.from({ length: rows * columns }, (_, patch) => [
    (Math.floor(patch / columns) + 0.5) / rows,
    ((patch % columns) + 0.5) / columns,
    chart.weights[chart.names.length + patch] ?? 0,
  ]);
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    width: wide,
    height: high,
    layer: [
      {
        data: { values: blocks_of(chart, most) },
        mark: { type: "rect", width: wide / Math.min(most, chart.columns) + 1, height: high / Math.min(most, chart.rows) + 1 },
        encoding: { ...across, color: { field: "color", type: "nominal", scale: null } },
      },
      {
        data: vega_data(["row", "column", "weight"], [], cells),
        mark: { type: "rect", width: wide / columns, height: high / rows, opacity: kVeil },
        encoding: {
          ...across,
          color: {
            field: "weight",
            type: "quantitative",
            scale: vega_weight_scale(theme, chart.color),
          },
        },
      },
    ],
  };
}
