// The large map: selects queries, zooms and pans with pointer, buttons and keys.
import { map_cell, map_image_box, map_layout, map_surroundings, type MapChart, type MapWindow } from "../../chart/attention_map";
import type { Theme } from "../../chart/theme";
import { chart_frame } from "../../page/chart_frame";
import { h, mount } from "../../page/elements";
import { hide_tip } from "../../page/tooltip";
import type { SelectedQuery } from "./selected_query";
import { is_zoomed, moved, whole_window, zoomed } from "./map_window";

export interface LargeMap {
  chart: MapChart;
  theme: Theme;
  pointing: SelectedQuery;
  window: MapWindow;
  on_window(window: MapWindow): void;
  facts: HTMLElement | null; // shown below the title, next to the zoom buttons
}

const kDragged = 4; // pixels that distinguish a drag from a click

export function large_map({ chart, theme, pointing, window, on_window, facts }: LargeMap): HTMLElement {
  const { shape } = chart;
  const can_zoom = shape.queries > 16;
  // The frame, tooltip and save menu read the chart again, so they follow the window.
  chart.window = window;
  let svg: SVGElement | undefined;
  const box = () => svg?.getBoundingClientRect() ?? new DOMRect();
  const layout = () => map_layout(chart, { width: box().width });

  const show = () => {
    if (!svg) return;
    const query = pointing.query();
    if (query === undefined || query >= shape.queries) delete chart.query;
    else chart.query = query;
    const now = layout();
    for (const [name, value] of Object.entries(map_image_box(chart, now))) svg.querySelector("image")?.setAttribute(name, String(value));
    svg.querySelector('[data-part="surroundings"]')?.replaceWith(mount(map_surroundings(chart, now, theme)));
  };
  const go = (to: MapWindow) => {
    chart.window = to;
    hide_tip();
    show();
    svg?.classList.toggle("zoomed", is_zoomed(to, shape));
    on_window(to);
  };
  const now = () => chart.window ?? whole_window(shape);
  const cell_at = (event: MouseEvent) => {
    const { left, top } = box();
    return map_cell(layout(), event.clientX - left, event.clientY - top);
  };
  pointing.watch(show);

  function on_key(event: KeyboardEvent): void {
    const view = now();
    const [down, across] = [Math.max(1, Math.round(view.queries / 8)), Math.max(1, Math.round(view.keys / 8))];
    const steps: Readonly<Record<string, readonly [number, number]>> = {
      ArrowUp: [-down, 0],
      ArrowDown: [down, 0],
      ArrowLeft: [0, -across],
      ArrowRight: [0, across],
    };
    const move = steps[event.key];
    const query = pointing.query();
    if (can_zoom && (event.key === "+" || event.key === "=")) go(zoomed(view, shape, 1.5));
    else if (can_zoom && event.key === "-") go(zoomed(view, shape, 1 / 1.5));
    else if (can_zoom && event.key === "0") go(whole_window(shape));
    else if (move && is_zoomed(view, shape)) go(moved(view, shape, ...move));
    else if (move && move[0] !== 0)
      pointing.point(Math.max(0, Math.min(shape.queries - 1, query === undefined ? 0 : query + Math.sign(move[0]))));
    else if (event.key === "Enter" && query !== undefined) pointing.hold(query);
    else return;
    event.preventDefault();
  }

  function attach(drawn: SVGElement): void {
    svg = drawn;
    svg.setAttribute("tabindex", "0");
    svg.classList.add("large-map");
    svg.classList.toggle("zoomed", is_zoomed(now(), shape));
    svg.addEventListener("keydown", on_key);
    let from: { x: number; y: number; window: MapWindow } | undefined;
    let dragged = false;
    svg.addEventListener("pointerdown", (event) => {
      from = { x: event.clientX, y: event.clientY, window: now() };
      dragged = false;
    });
    svg.addEventListener("pointermove", (event) => {
      if (!from || !(event.buttons & 1)) return pointing.point(cell_at(event)?.query);
      const [across, down] = [event.clientX - from.x, event.clientY - from.y];
      if (!is_zoomed(from.window, shape) || (!dragged && Math.hypot(across, down) < kDragged)) return;
      if (!dragged) drawn.setPointerCapture(event.pointerId);
      dragged = true;
      const { plot } = layout();
      const { queries, keys } = from.window;
      go(moved(from.window, shape, (-down * queries) / plot.height, (-across * keys) / plot.width));
    });
    svg.addEventListener("click", (event) => {
      const cell = cell_at(event);
      if (cell && !dragged) pointing.hold(cell.query);
    });
    svg.addEventListener("pointerleave", () => pointing.point(undefined));
    svg.addEventListener("blur", () => pointing.point(undefined));
    // The wheel alone scrolls the page. With Ctrl, which touchpads also send for a pinch, it zooms.
    svg.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey || !can_zoom) return;
        event.preventDefault();
        go(zoomed(now(), shape, Math.exp(-event.deltaY / 200), cell_at(event)));
      },
      { passive: false },
    );
    if (can_zoom) svg.addEventListener("dblclick", (event) => go(zoomed(now(), shape, event.shiftKey ? 0.5 : 2, cell_at(event))));
    show();
  }

  const button = (label: string, sign: string, act: () => void) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: act }, sign);
  const controls = h(
    "div",
    { class: "choice", role: "group", "aria-label": "zoom" },
    button("zoom in", "+", () => go(zoomed(now(), shape, 1.5))),
    button("zoom out", "−", () => go(zoomed(now(), shape, 1 / 1.5))),
    button("show the full map", "⤢", () => go(whole_window(shape))),
  );
  const frame = chart_frame(chart, theme, { level: 2, after_draw: attach });
  frame.querySelector(".chart-head")?.after(h("div", { class: "map-line" }, facts, can_zoom ? controls : null));
  return frame;
}
