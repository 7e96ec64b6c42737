// A crosshair shared by all panels of a line chart. The legend shows the values at the crosshair.
import type { Size } from "../chart/chart_fields";
import { lines_layout, vertex, type Line, type LinesChart } from "../chart/lines";
import { format_number } from "../chart/number_format";
import { color_of, type Theme } from "../chart/theme";
import { s } from "../chart/svg_tree";
import { plain } from "../chart/rich_text";
import { number_at } from "../data/numbers";
import { mount } from "./elements";
import { hide_tip, place_tip } from "./tooltip";

/** Index of the vertex nearest to x. Lines are sorted by x. */
function nearest(xs: ArrayLike<number>, x: number): number {
  let [low, high] = [0, xs.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (number_at(xs, middle) < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - number_at(xs, low - 1) < number_at(xs, low) - x ? low - 1 : low;
}

export function attach_crosshair(
  svg: SVGElement,
  chart: LinesChart,
  size: Size,
  theme: Theme,
  values: ReadonlyMap<string, HTMLElement>,
): void {
  const layout = lines_layout(chart, size);
  if (layout.plots.length === 0) return;
  const overlay = mount(s("g", { "aria-hidden": "true", "pointer-events": "none" }));
  svg.append(overlay);
  svg.setAttribute("tabindex", "0");
  // The crosshair snaps to the x values of the longest line.
  const stops = chart.panels
    .flatMap((panel) => panel.lines)
    .reduce<ArrayLike<number>>((longest, line) => (line.x.length > longest.length ? line.x : longest), []);
  let at = -1;
  let panel_at = 0;

  const value_at = (line: Line, x: number) => vertex(chart, line, nearest(line.x, x));
  const show = () => {
    overlay.replaceChildren();
    for (const place of values.values()) place.textContent = "";
    const x = stops[at];
    if (x === undefined) return;
    layout.plots.forEach((plot, index) => {
      const across = plot.x + layout.x(x);
      overlay.append(
        mount(s("line", { x1: across, x2: across, y1: plot.y, y2: plot.y + plot.height, stroke: theme.faint, "stroke-width": 1 })),
      );
      if (index === 0 || index === panel_at)
        overlay.append(
          mount(
            s(
              "text",
              { x: across + 4, y: plot.y + plot.height - 5, "font-size": 10.5, fill: theme.soft },
              format_number(x, chart.x.format ?? "tick"),
            ),
          ),
        );
      for (const line of chart.panels[index]?.lines ?? []) {
        const point = value_at(line, x);
        if (!point) continue;
        const [, y] = point;
        const height = layout.y(y);
        if (height < -3 || height > plot.height) continue;
        const series = chart.series.find((each) => each.key === line.series);
        overlay.append(
          mount(
            s("circle", {
              cx: plot.x + layout.x(point[0]),
              cy: plot.y + height,
              r: 3,
              fill: color_of(theme, series?.color ?? "ink"),
              stroke: theme.ground,
              "stroke-width": 1,
            }),
          ),
        );
      }
    });
    const said = (chart.panels[panel_at]?.lines ?? []).map((line) => {
      const text = format_number(value_at(line, x)?.[1], chart.y.format ?? "tick");
      const place = values.get(line.series);
      if (place) place.textContent = text;
      return `${plain(line.label ?? chart.series.find((each) => each.key === line.series)?.label ?? line.series)} ${text}`;
    });
    // Without a legend, a tooltip at the crosshair shows the values.
    const plot = layout.plots[panel_at];
    if (values.size > 0 || !plot) return;
    const box = svg.getBoundingClientRect();
    place_tip(
      [`${chart.x.title} ${format_number(x, chart.x.format ?? "tick")}`, ...said].join("\n"),
      box.left + plot.x + layout.x(x),
      box.top + plot.y,
    );
  };

  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const index = layout.plots.findIndex(
      (plot) => x >= plot.x - 8 && x <= plot.x + plot.width + 8 && y >= plot.y - 20 && y <= plot.y + plot.height + 20,
    );
    const plot = layout.plots[index];
    if (!plot) return;
    panel_at = index;
    at = nearest(stops, layout.x.invert(x - plot.x));
    show();
  });
  const clear = () => {
    at = -1;
    show();
    hide_tip();
  };
  svg.addEventListener("pointerleave", clear);
  svg.addEventListener("blur", clear);
  svg.addEventListener("keydown", (event) => {
    if (event.key === "Escape") clear();
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    const step = (event.shiftKey ? 10 : 1) * (event.key === "ArrowLeft" ? -1 : 1);
    at = at < 0 ? 0 : Math.min(stops.length - 1, Math.max(0, at + step));
    show();
  });
}
