// All chart kinds: drawing and Vega-Lite export.
import { atlas_to_vega_lite, draw_atlas, type AtlasChart } from "./rank_atlas";
import { bars_to_vega_lite, draw_bars, type BarsChart } from "./histogram";
import type { Series, Size } from "./chart_fields";
import { color_key, layer_key } from "./color_scale";
import { grouped_bars_to_vega_lite, cut_columns_words, draw_grouped_bars, type GroupedBarsChart } from "./grouped_bars";
import { cut_words } from "./clipped_lines";
import { strip_plot_to_vega_lite, draw_strip_plot, type StripPlotChart } from "./strip_plot";
import { draw_graph, graph_to_vega_lite, type GraphChart } from "./head_graph";
import { draw_heatmap, heatmap_to_vega_lite, type HeatmapChart } from "./heatmap";
import { draw_image, image_to_vega_lite, type ImageChart } from "./image";
import { draw_layer_densities, layer_densities_to_vega_lite, type LayerDensitiesChart } from "./layer_densities";
import { draw_lines, type LinesChart } from "./lines";
import { lines_to_vega_lite } from "./lines_vega";
import { draw_map, map_to_vega_lite, type MapChart } from "./attention_map";
import { draw_image_patches, image_patches_to_vega_lite, type ImagePatchesChart } from "./image_patches";
import { draw_scatter, scatter_to_vega_lite, type ScatterChart } from "./scatter";
import { color_of, kFont, text_color, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { draw_audio_frames, audio_frames_to_vega_lite, type AudioFramesChart } from "./audio_frames";
import { draw_map_grid, map_grid_to_vega_lite, type MapGridChart } from "./attention_map_grid";
import { weight_key } from "./attention_colors";
import { plain, text_width, tspans, type Words } from "./rich_text";

export type Chart =
  | LinesChart
  | HeatmapChart
  | LayerDensitiesChart
  | BarsChart
  | GroupedBarsChart
  | StripPlotChart
  | ScatterChart
  | MapChart
  | MapGridChart
  | ImagePatchesChart
  | AudioFramesChart
  | ImageChart
  | GraphChart
  | AtlasChart;

interface Kind<C> {
  draw(chart: C, theme: Theme, size: Size): Tree;
  to_vega_lite(chart: C, theme: Theme): object;
}

const kKinds: { [K in Chart["kind"]]: Kind<Extract<Chart, { kind: K }>> } = {
  lines: { draw: draw_lines, to_vega_lite: lines_to_vega_lite },
  heatmap: { draw: draw_heatmap, to_vega_lite: heatmap_to_vega_lite },
  laminar: { draw: draw_layer_densities, to_vega_lite: layer_densities_to_vega_lite },
  bars: { draw: draw_bars, to_vega_lite: bars_to_vega_lite },
  columns: { draw: draw_grouped_bars, to_vega_lite: grouped_bars_to_vega_lite },
  dots: { draw: draw_strip_plot, to_vega_lite: strip_plot_to_vega_lite },
  scatter: { draw: draw_scatter, to_vega_lite: scatter_to_vega_lite },
  map: { draw: draw_map, to_vega_lite: map_to_vega_lite },
  wall: { draw: draw_map_grid, to_vega_lite: map_grid_to_vega_lite },
  picture: { draw: draw_image_patches, to_vega_lite: image_patches_to_vega_lite },
  track: { draw: draw_audio_frames, to_vega_lite: audio_frames_to_vega_lite },
  image: { draw: draw_image, to_vega_lite: image_to_vega_lite },
  graph: { draw: draw_graph, to_vega_lite: graph_to_vega_lite },
  atlas: { draw: draw_atlas, to_vega_lite: atlas_to_vega_lite },
};

const kind_of = (chart: Chart) => kKinds[chart.kind] as Kind<Chart>;

/** The chart without title, note and legend, which the page shows as text. */
export const draw = (chart: Chart, theme: Theme, size: Size): Tree => kind_of(chart).draw(chart, theme, size);

export const to_vega_lite = (chart: Chart, theme: Theme): object => kind_of(chart).to_vega_lite(chart, theme);

/** The caption, including marks of clipped values. */
export function note_of(chart: Chart): Words | undefined {
  const cut = chart.kind === "lines" ? cut_words(chart) : chart.kind === "columns" ? cut_columns_words(chart) : undefined;
  return chart.note && cut ? [chart.note, " ", cut].flat() : (chart.note ?? cut);
}

// With a single layer there is no color scale.
const has_layer_key = (chart: LinesChart): chart is LinesChart & { layer_key: number } => (chart.layer_key ?? 0) > 1;

/** Entries of the legend; empty if the chart labels its lines directly. */
export function legend_of(chart: Chart): readonly Series[] {
  if (chart.kind === "lines") return chart.end_labels || has_layer_key(chart) ? [] : chart.series;
  if (chart.kind === "bars" || chart.kind === "columns") return chart.series.length > 1 ? chart.series : [];
  return chart.kind === "graph" ? chart.series : [];
}

/** The chart's color bar. */
export function key_of(chart: Chart, theme: Theme): Tree | null {
  if (chart.kind === "heatmap" || chart.kind === "laminar" || chart.kind === "image") return color_key(theme, chart.scale);
  if (chart.kind === "scatter" && chart.layers && chart.layers > 1) return layer_key(theme, chart.layers);
  if (chart.kind === "lines" && has_layer_key(chart)) return layer_key(theme, chart.layer_key);
  const of_weights = chart.kind === "map" || chart.kind === "wall" || chart.kind === "picture" || chart.kind === "track";
  return of_weights ? weight_key(theme, chart.color) : null;
}

/** A standalone chart for a file, with background, title, note, legend and color bar. */
export function chart_tree(chart: Chart, theme: Theme, width: number): Tree {
  const margin = 16;
  const inner = width - 2 * margin;
  const key = key_of(chart, theme);
  const above: Tree[] = [s("text", { x: margin, y: 28, "font-size": 15, "font-weight": 620, fill: theme.ink }, tspans(chart.title))];
  let y = 40;
  const note = note_of(chart);
  if (note) {
    for (const line of wrapped(note, inner - (key ? 170 : 0), 12)) {
      above.push(s("text", { x: margin, y: y + 8, "font-size": 12, fill: theme.soft }, line));
      y += 16;
    }
  }
  if (key) above.push(s("g", { transform: `translate(${width - margin - Number(key.attributes.width)} 16)` }, key));
  let x = margin;
  for (const series of legend_of(chart)) {
    const step = text_width(plain(series.label), 11.5) + 40;
    if (x + step > width - margin && x > margin) [x, y] = [margin, y + 18];
    above.push(legend_entry(series, x, y + 12, theme));
    x += step;
  }
  if (x > margin) y += 24;
  const body = draw(chart, theme, { width: inner });
  const height = y + Number(body.attributes.height) + margin;
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": kFont },
    s("rect", { width, height, fill: theme.ground }),
    above,
    s("g", { transform: `translate(${margin} ${y})` }, body),
  );
}

function legend_entry(series: Series, x: number, y: number, theme: Theme): Tree {
  return s(
    "g",
    {},
    s("line", {
      x1: x,
      x2: x + 20,
      y1: y - 4,
      y2: y - 4,
      stroke: color_of(theme, series.color),
      "stroke-width": 2,
      "stroke-dasharray": series.dash ?? (series.color === "null" ? "4 3" : null),
    }),
    s("text", { x: x + 26, y, "font-size": 11.5, fill: text_color(theme, series.color) }, tspans(series.label)),
  );
}

function wrapped(words: Parameters<typeof plain>[0], width: number, size: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of plain(words).split(" ")) {
    if (line && text_width(`${line} ${word}`, size) > width) {
      lines.push(line);
      line = word;
    } else line = line ? `${line} ${word}` : word;
  }
  return line ? [...lines, line] : lines;
}
