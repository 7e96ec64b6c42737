// One-line tooltip for the cell or point under the pointer or the focus.
import { atlas_words } from "../chart/rank_atlas";
import { bars_words } from "../chart/histogram";
import type { Chart } from "../chart/chart";
import { column_words } from "../chart/grouped_bars";
import { cell_words } from "../chart/heatmap";
import { image_words } from "../chart/image";
import { layer_densities_words } from "../chart/layer_densities";
import { map_cell, map_layout, map_words } from "../chart/attention_map";
import { image_patches_words } from "../chart/image_patches";
import { point_words } from "../chart/scatter";
import { audio_frames_words } from "../chart/audio_frames";
import { map_grid_words } from "../chart/attention_map_grid";
import { h } from "./elements";

let tip: HTMLElement | undefined;

/** Shows a tooltip next to a point of the window. */
export function place_tip(text: string, x: number, y: number): void {
  tip ??= document.body.appendChild(h("div", { class: "tip", "aria-hidden": "true" }));
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 6))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18}px`;
}

export function hide_tip(): void {
  if (tip) tip.hidden = true;
}

function words_at(chart: Chart, target: Element, x: number, y: number, width: number): string | undefined {
  const { row, column, point, edge } = (target as SVGElement).dataset;
  if (chart.kind === "map") {
    const cell = map_cell(map_layout(chart, { width }), x, y);
    return cell && map_words(chart, cell.query, cell.key);
  }
  if (chart.kind === "laminar") return layer_densities_words(chart, x, y, width);
  if (chart.kind === "track") return audio_frames_words(chart, x, width);
  if (chart.kind === "bars") return bars_words(chart, x, y, width);
  if (chart.kind === "image") return image_words(chart, x, y, width);
  if (chart.kind === "scatter" && point !== undefined) {
    const found = chart.points[Number(point)];
    return found && point_words(chart, found);
  }
  if (chart.kind === "graph" && edge !== undefined) return chart.edges[Number(edge)]?.label;
  if (row === undefined || column === undefined) return undefined;
  if (chart.kind === "columns") return column_words(chart, Number(row), Number(column));
  if (chart.kind === "heatmap") return cell_words(chart, Number(row), Number(column));
  if (chart.kind === "picture") return image_patches_words(chart, Number(row), Number(column));
  if (chart.kind === "wall") return map_grid_words(chart, Number(row), Number(column));
  return chart.kind === "atlas" ? atlas_words(chart, Number(row), Number(column)) : undefined;
}

export function attach_tips(svg: SVGElement, chart: Chart, on_point?: (index: number) => void): void {
  if (chart.kind === "lines") return; // line charts have a crosshair
  // Chromium adds an element that listens to focus to the tab order, before the chart's own cell or map.
  if (!svg.hasAttribute("tabindex")) svg.setAttribute("tabindex", "-1");
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const words = words_at(chart, event.target as Element, event.clientX - box.left, event.clientY - box.top, box.width);
    if (words) place_tip(words, event.clientX, event.clientY);
    else hide_tip();
  });
  svg.addEventListener("pointerleave", hide_tip);
  svg.addEventListener("focusin", (event) => {
    const cell = event.target as SVGElement;
    if (!cell.matches(":focus-visible")) return;
    const box = cell.getBoundingClientRect();
    const words = words_at(chart, cell, 0, 0, box.width);
    if (words) place_tip(words, box.left, box.bottom - 12);
  });
  svg.addEventListener("focusout", hide_tip);
  if (!on_point) return;
  svg.classList.add("can-choose");
  svg.addEventListener("click", (event) => {
    const point = (event.target as SVGElement).dataset.point;
    if (point !== undefined) on_point(Number(point));
  });
}
