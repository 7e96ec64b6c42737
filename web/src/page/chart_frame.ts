// A chart on the page: title, caption, legend, drawing and save menu.
import type { Series } from "../chart/chart_fields";
import { draw, key_of, legend_of, note_of, type Chart } from "../chart/chart";
import { color_of, text_color, type Theme } from "../chart/theme";
import { plain } from "../chart/rich_text";
import { attach_crosshair } from "./crosshair";
import { attach_grid_keys, grid_chart, type Place } from "./grid_keys";
import { h, mount, set_words } from "./elements";
import { save_menu } from "./save_chart";
import { attach_tips } from "./tooltip";

export interface FrameOptions {
  on_choose?: (place: Place) => void; // cell of a heatmap, wall or atlas: row and column
  on_point?: (index: number) => void; // point of a scatter plot
  level?: 2 | 3; // heading level: 3, or 2 for a chart outside a section
  controls?: HTMLElement; // to the right of the title
  off?: readonly string[]; // series hidden at first, until their legend button is pressed
  fit?: (shown: Chart) => Chart; // the chart with axes adapted to the visible series
  after_draw?: (svg: SVGElement, body: HTMLElement, chart: Chart) => void; // view-specific additions
}

interface Drawable {
  body: HTMLElement;
  width: number;
  redraw(width: number): void;
}

let drawables: Drawable[] = [];
// Series switched off in the legend, by chart. Survives redraws of the view.
const hidden_series = new Map<string, Set<string>>();

/** Forgets the frames of the previous view. */
export const forget_frames = (): void => void (drawables = []);

/** Redraws every frame with a new width. Reads all widths before changing anything, to avoid repeated layout. */
export function draw_frames(again = false): void {
  drawables = drawables.filter((each) => each.body.isConnected);
  const widths = drawables.map((each) => ({ each, width: Math.floor(each.body.clientWidth) }));
  widths.forEach(({ each, width }) => {
    if (width > 0 && (again || width !== each.width)) {
      each.width = width;
      each.redraw(width);
    }
  });
}

export function chart_frame(chart: Chart, theme: Theme, options: FrameOptions = {}): HTMLElement {
  const hidden = hidden_series.get(chart.name) ?? new Set(options.off);
  hidden_series.set(chart.name, hidden);
  const body = h("div", { class: "chart-body" });
  const legend = h("div", { class: "legend" });
  const key = key_of(chart, theme);
  const note = note_of(chart);
  const figure = h(
    "figure",
    { class: `chart chart-${chart.kind}`, "data-chart": chart.name },
    h(
      "header",
      { class: "chart-head" },
      h(options.level === 2 ? "h2" : "h3", {}, set_words(chart.title)),
      h(
        "span",
        { class: "chart-side" },
        options.controls ?? null,
        key ? (mount(key) as unknown as HTMLElement) : null,
        save_menu(chart, theme),
      ),
    ),
    note ? h("p", { class: "note" }, set_words(note)) : null,
    legend_of(chart).length > 0 ? legend : null,
    body,
  );

  const drawable: Drawable = {
    body,
    width: 0,
    redraw(width) {
      const left = without(chart, hidden);
      const shown = options.fit?.(left) ?? left;
      const focus = focused_cell(body);
      const svg = mount(draw(shown, theme, { width }));
      body.replaceChildren(svg);
      const values = fill_legend(legend, chart, hidden, theme, () => drawable.redraw(drawable.width));
      if (shown.kind === "lines") attach_crosshair(svg, shown, { width }, theme, values);
      if (grid_chart(shown)) attach_grid_keys(svg, shown, options.on_choose, focus);
      attach_tips(svg, shown, options.on_point);
      options.after_draw?.(svg, body, shown);
    },
  };
  drawables.push(drawable);
  return figure;
}

function without(chart: Chart, hidden: ReadonlySet<string>): Chart {
  if (hidden.size === 0) return chart;
  const shown = (each: { series: string }) => !hidden.has(each.series);
  if (chart.kind === "lines") return { ...chart, panels: chart.panels.map((panel) => ({ ...panel, lines: panel.lines.filter(shown) })) };
  if (chart.kind === "bars") return { ...chart, bars: chart.bars.filter(shown) };
  if (chart.kind === "columns") return { ...chart, columns: chart.columns.filter(shown) };
  return chart.kind === "graph" ? { ...chart, edges: chart.edges.filter(shown) } : chart;
}

function focused_cell(body: HTMLElement): Place | undefined {
  const cell = document.activeElement;
  if (!cell || !body.contains(cell) || !(cell instanceof SVGElement)) return undefined;
  return { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
}

/** Fills the legend. Returns the elements that show values under the pointer, by series. */
function fill_legend(legend: HTMLElement, chart: Chart, hidden: Set<string>, theme: Theme, redraw: () => void): Map<string, HTMLElement> {
  const all = legend_of(chart);
  const values = new Map<string, HTMLElement>();
  const had_focus = legend.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.series : undefined;
  const toggle = (series: Series, alone: boolean) => {
    const others = all.filter((each) => each.key !== series.key).map((each) => each.key);
    if (alone && others.some((key) => !hidden.has(key))) {
      hidden.clear();
      others.forEach((key) => hidden.add(key));
    } else if (alone) hidden.clear();
    else if (!hidden.delete(series.key)) hidden.add(series.key);
    redraw();
  };
  legend.replaceChildren(
    ...all.map((series) => {
      const value = h("span", { class: "legend-value" });
      values.set(series.key, value);
      const line = {
        d: "M0 5H20",
        fill: "none",
        stroke: color_of(theme, series.color),
        "stroke-width": 2,
        "stroke-dasharray": series.dash ?? (series.color === "null" ? "4 3" : "none"),
      };
      const swatch = mount({
        tag: "svg",
        attributes: { width: 20, height: 10, "aria-hidden": "true" },
        children: [{ tag: "path", attributes: line, children: [] }],
      });
      const button = h(
        "button",
        {
          type: "button",
          "data-series": series.key,
          "aria-pressed": hidden.has(series.key) ? "false" : "true",
          title: `Show or hide ${plain(series.label)}; Shift+click: show only this`,
          onclick: (event: MouseEvent) => toggle(series, event.shiftKey),
        },
        swatch as unknown as HTMLElement,
        h("span", {}, set_words(series.label)),
        value,
      );
      button.style.color = text_color(theme, series.color);
      return button;
    }),
  );
  if (had_focus !== undefined) legend.querySelector<HTMLElement>(`[data-series="${CSS.escape(had_focus)}"]`)?.focus();
  return values;
}
