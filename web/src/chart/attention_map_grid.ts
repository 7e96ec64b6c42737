// The attention maps of all heads in one image. Rows: layers; columns: heads.
import { weight_of_byte, type MapShape } from "../data/maps";
import type { ChartFields, Size } from "./chart_fields";
import { kVegaLiteSchema, vega_data } from "./csv";
import { png_address } from "./png";
import { kFont, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { pooled, vega_weight_scale, weight_steps, type WeightColor } from "./attention_colors";
import { head_name, plain } from "./rich_text";

export interface GridMap {
  layer: number;
  head: number;
  shape: MapShape;
  bytes: Uint8Array;
  thumbnail?: boolean; // the report has only a thumbnail of this map
}

export interface MapGridChart extends ChartFields {
  kind: "wall";
  layers: number;
  heads: number;
  maps: GridMap[]; // maps in the report
  color: WeightColor;
  largest_cell?: number; // pixels; 130 by default
  chosen?: { layer: number; head: number };
}

export function map_grid_layout(chart: MapGridChart, { width }: Size) {
  const [left, top] = [22, 18];
  const cell = Math.min((width - left) / Math.max(1, chart.heads), chart.largest_cell ?? 130);
  return { width, height: top + chart.layers * cell + 2, left, top, cell };
}

/** Tooltip of a cell. */
export function map_grid_words(chart: MapGridChart, layer: number, head: number): string {
  const map = chart.maps.find((each) => each.layer === layer && each.head === head);
  return `${head_name({ layer, head })}${!map ? ": no map in this report" : map.thumbnail ? ": thumbnail" : ""}`;
}

// Selecting another head redraws the same maps, so their image is cached by their array.
const images = new WeakMap<readonly GridMap[], Map<string, string>>();

function wall_image(chart: MapGridChart, tile: number, theme: Theme): string {
  const made = images.get(chart.maps) ?? new Map<string, string>();
  images.set(chart.maps, made);
  const key = `${theme.name}/${chart.color}/${tile}`;
  const known = made.get(key);
  if (known) return known;
  const [columns, rows] = [chart.heads * tile, chart.layers * tile];
  const pixels = new Uint8Array(columns * rows);
  const steps = weight_steps(chart.color);
  for (const map of chart.maps) {
    const { bytes, shape } = pooled(map.bytes, map.shape, tile);
    const from = (place: number, count: number) => Math.floor((place * count) / tile);
    for (let row = 0; row < tile; ++row) {
      const [source, target] = [from(row, shape.queries) * shape.keys, (map.layer * tile + row) * columns + map.head * tile];
      for (let column = 0; column < tile; ++column) pixels[target + column] = steps[bytes[source + from(column, shape.keys)] ?? 0] ?? 0;
    }
  }
  const image = png_address(pixels, columns, rows, theme.sequential);
  made.set(key, image);
  return image;
}

export function draw_map_grid(chart: MapGridChart, theme: Theme, size: Size): Tree {
  const { width, height, left, top, cell } = map_grid_layout(chart, size);
  const most = Math.max(1, ...chart.maps.map(({ shape }) => Math.max(shape.queries, shape.keys)));
  // Pixels per map in the shared image, for screens with double pixel density.
  const tile = Math.max(8, Math.min(most, Math.round(cell * 2)));
  const there = new Set(chart.maps.map((map) => `${map.layer}/${map.head}`));
  const label = { "font-size": 11, fill: theme.faint };
  const every = Math.ceil(18 / cell);
  const layers = Array.from({ length: chart.layers }, (_, layer) => layer);
  const heads = Array.from({ length: chart.heads }, (_, head) => head);
  const gap = cell > 24 ? 2 : 1;
  const corner = Math.max(4, Math.min(9, cell * 0.2));
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": kFont, role: "group", "aria-label": plain(chart.title) },
    s("image", {
      x: left,
      y: top,
      width: chart.heads * cell,
      height: chart.layers * cell,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
      "image-rendering": tile > cell ? null : "pixelated",
      href: wall_image(chart, tile, theme),
    }),
    s(
      "g",
      { "aria-hidden": "true" },
      heads.map(
        (head) =>
          head % every === 0 && s("text", { x: left + (head + 0.5) * cell, y: top - 5, "text-anchor": "middle", ...label }, String(head)),
      ),
      layers.map(
        (layer) =>
          layer % every === 0 &&
          s("text", { x: left - 6, y: top + (layer + 0.5) * cell + 3.8, "text-anchor": "end", ...label }, String(layer)),
      ),
      heads
        .slice(1)
        .map((head) => s("rect", { x: left + head * cell - gap / 2, y: top, width: gap, height: chart.layers * cell, fill: theme.ground })),
      layers.flatMap((layer) =>
        heads.map((head) =>
          there.has(`${layer}/${head}`)
            ? null
            : s("text", { x: left + (head + 0.5) * cell, y: top + (layer + 0.5) * cell + 3.8, "text-anchor": "middle", ...label }, "–"),
        ),
      ),
      layers
        .slice(1)
        .map((layer) =>
          s("rect", { x: left, y: top + layer * cell - gap / 2, width: chart.heads * cell, height: gap, fill: theme.ground }),
        ),
    ),
    // Among thumbnails, a marked corner indicates full maps.
    s(
      "g",
      { "aria-hidden": "true" },
      chart.maps.some((map) => map.thumbnail)
        ? chart.maps
            .filter((map) => !map.thumbnail)
            .map((map) =>
              s("path", {
                d: `M${left + (map.head + 1) * cell - gap / 2} ${top + map.layer * cell + gap / 2}h${-corner}l${corner} ${corner}z`,
                fill: theme.mark,
              }),
            )
        : [],
    ),
    s(
      "g",
      { role: "grid", "aria-label": chart.label ?? `${plain(chart.title)}: layer by head` },
      layers.map((layer) =>
        s(
          "g",
          { role: "row" },
          heads.map((head) => {
            const chosen = chart.chosen?.layer === layer && chart.chosen.head === head;
            return s("rect", {
              role: "gridcell",
              x: left + head * cell,
              y: top + layer * cell,
              width: cell,
              height: cell,
              fill: "transparent",
              tabindex: -1,
              "aria-label": map_grid_words(chart, layer, head),
              "aria-selected": chosen ? "true" : null,
              "data-row": layer,
              "data-column": head,
              stroke: chosen ? theme.mark : null,
              "stroke-width": chosen ? 2.5 : null,
            });
          }),
        ),
      ),
    ),
  );
}

export function map_grid_to_vega_lite(chart: MapGridChart, theme: Theme): object {
  const rows = chart.maps.flatMap((map) => {
    const { bytes, shape } = pooled(map.bytes, map.shape, 12);
    const place = (index: number) => [Math.floor(index / shape.keys), index % shape.keys];
    return Array.from(bytes, (byte, index) => [map.layer, map.head, ...place(index), weight_of_byte(byte)]);
  });
  const axis = { type: "ordinal", axis: null };
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["layer", "head", "query", "key", "weight"], [], rows),
    facet: { row: { field: "layer", type: "ordinal", header: { labelAngle: 0 } }, column: { field: "head", type: "ordinal" } },
    spacing: 3,
    spec: {
      width: 48,
      height: 48,
      mark: "rect",
      encoding: {
        y: { field: "query", ...axis },
        x: { field: "key", ...axis },
        color: {
          field: "weight",
          type: "quantitative",
          scale: vega_weight_scale(theme, chart.color),
        },
      },
    },
  };
}
