// Keyboard control of cell grids: one tab stop, arrow keys move, Enter or a click selects.
import type { Chart } from "../chart/chart";

export interface Place {
  row: number;
  column: number;
}

type GridChart = Extract<Chart, { kind: "heatmap" | "wall" | "atlas" | "picture" }>;
export const grid_chart = (chart: Chart): chart is GridChart =>
  chart.kind === "heatmap" || chart.kind === "wall" || chart.kind === "atlas" || chart.kind === "picture";

function chosen_place(chart: GridChart): Place | undefined {
  if (chart.kind === "heatmap") return chart.chosen;
  return chart.kind === "wall" && chart.chosen ? { row: chart.chosen.layer, column: chart.chosen.head } : undefined;
}

const kSteps: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** `focus`: the cell that had the focus before a redraw. */
export function attach_grid_keys(svg: SVGElement, chart: GridChart, choose?: (place: Place) => void, focus?: Place): void {
  const rows = [...svg.querySelectorAll<SVGElement>('[role="row"]')].map((row) => [
    ...row.querySelectorAll<SVGElement>('[role="gridcell"]'),
  ]);
  const cell_at = ({ row, column }: Place) => rows[row]?.[column];
  let stop: Place = focus ?? chosen_place(chart) ?? { row: 0, column: 0 };
  cell_at(stop)?.setAttribute("tabindex", "0");

  const place_of = (target: EventTarget | null): Place | undefined => {
    const cell = target instanceof Element ? target.closest<SVGElement>('[role="gridcell"]') : null;
    return cell ? { row: Number(cell.dataset.row), column: Number(cell.dataset.column) } : undefined;
  };
  // Rows can have different lengths.
  const move = ({ row, column }: Place) => cell_at({ row, column: Math.min(column, (rows[row]?.length ?? 1) - 1) })?.focus();
  svg.addEventListener("focusin", (event) => {
    const to = place_of(event.target);
    if (!to) return;
    cell_at(stop)?.setAttribute("tabindex", "-1");
    cell_at(to)?.setAttribute("tabindex", "0");
    stop = to;
  });
  if (focus) cell_at(focus)?.focus();
  svg.addEventListener("keydown", (event) => {
    const from = place_of(event.target);
    if (!from) return;
    const step = kSteps[event.key];
    const last = (rows[from.row]?.length ?? 1) - 1;
    if (step) move({ row: from.row + step[0], column: from.column + step[1] });
    else if (event.key === "Home") move({ row: event.ctrlKey ? 0 : from.row, column: 0 });
    else if (event.key === "End") move({ row: event.ctrlKey ? rows.length - 1 : from.row, column: last });
    else if (event.key === "Enter" || event.key === " ") choose?.(from);
    else return;
    event.preventDefault();
  });
  if (!choose) return;
  svg.classList.add("can-choose");
  svg.addEventListener("click", (event) => {
    const place = place_of(event.target);
    if (place) choose(place);
  });
}
