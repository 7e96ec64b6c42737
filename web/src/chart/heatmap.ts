// A grid of cells, such as layers × heads or heads × heads.
import type { ChartFields, ColorScale, Size } from "./chart_fields";
import { scale_color, vega_color } from "./color_scale";
import { kVegaLiteSchema, vega_data } from "./csv";
import { format_number, type Format } from "./number_format";
import { text_on } from "./oklab";
import { kFont, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { fitted, head_name, plain, tspans, type Words } from "./rich_text";

/** A number, null for no value, or the reason why the report has none. */
export type Cell = number | null | "missing" | { skipped: string };

export interface HeatmapChart extends ChartFields {
  kind: "heatmap";
  rows: { title: string; labels: readonly string[] };
  columns: { title: string; labels: readonly Words[] };
  cells: Cell[][]; // [row][column]
  scale: ColorScale;
  format: Format; // format of cell numbers
  chosen?: { row: number; column: number };
  square?: boolean; // square cells
  words?: readonly (readonly string[])[]; // [row][column]: text shown in a cell instead of its number
  number_name?: string; // before the number in tooltips: "rank"
  details?: readonly (readonly string[])[]; // [row][column]: replaces the number in tooltips, or follows no_number
  missing?: string; // what "missing" means, in tooltips; such cells are then empty
  no_number?: string; // what null means, in tooltips; "no value" by default
}

export interface GridLayout {
  width: number;
  height: number;
  left: number;
  top: number;
  cell: { width: number; height: number };
}

export function heatmap_layout(chart: HeatmapChart, { width }: Size): GridLayout {
  const longest = Math.max(1, ...chart.rows.labels.map((label) => label.length));
  const [left, top] = [10 + longest * 7, 18];
  const columns = Math.max(1, chart.columns.labels.length);
  const room = (width - left) / columns;
  const cell_width = Math.min(room, chart.words ? 96 : 54);
  const cell_height = chart.square ? cell_width : Math.max(12, Math.min(22, cell_width));
  return { width, height: top + chart.rows.labels.length * cell_height + 4, left, top, cell: { width: cell_width, height: cell_height } };
}

export function cell_words(chart: HeatmapChart, row: number, column: number): string {
  const cell = chart.cells[row]?.[column] ?? null;
  const [down, across] = [chart.rows.labels[row] ?? String(row), plain(chart.columns.labels[column] ?? String(column))];
  const has_heads = chart.rows.title === "layer" && chart.columns.title === "head";
  const place = !has_heads
    ? `${chart.rows.title} ${down}, ${chart.columns.title} ${across}`
    : /^\d+$/.test(across)
      ? head_name({ layer: Number(down), head: Number(across) })
      : `layer ${down}, ${across}`; // a column that is not a head
  if (cell === "missing") return `${place}: ${chart.missing ?? "not in this report"}`;
  if (cell !== null && typeof cell === "object") return `${place}: skipped, ${cell.skipped}`;
  const word = chart.words?.[row]?.[column];
  const name = chart.number_name === undefined ? "" : `${chart.number_name}: `;
  const details = chart.details?.[row]?.[column] ?? "";
  const none = `${chart.no_number ?? "no value"}${details === "" ? "" : `: ${details}`}`;
  const number = cell === null ? none : details !== "" ? details : `${name}${format_number(cell, chart.format)}`;
  return `${place}: ${word === undefined ? "" : `“${word}”, `}${number}`;
}

const kFontSize = 10.4;

export function draw_heatmap(chart: HeatmapChart, theme: Theme, size: Size): Tree {
  const layout = heatmap_layout(chart, size);
  const { left, top, cell } = layout;
  const numbers: Tree[] = [];
  const gap = Math.min(1.5, cell.width / 4);
  const longest = Math.max(
    ...chart.cells.flat().map((value) => format_number(typeof value === "number" ? value : null, chart.format).length),
  );
  const with_numbers = chart.words ? cell.width >= 16 : cell.width >= longest * 5.6 + 3 && cell.height >= 13;
  const rows = chart.cells.map((row, row_index) =>
    s(
      "g",
      { role: "row" },
      row.map((value, column) => {
        const [x, y] = [left + column * cell.width, top + row_index * cell.height];
        const known = typeof value === "number" && Number.isFinite(value);
        const fill = known ? scale_color(theme, chart.scale, value) : theme.ground;
        if (known ? with_numbers : value !== "missing" || chart.missing === undefined)
          numbers.push(
            s(
              "text",
              {
                x: x + cell.width / 2,
                y: y + cell.height / 2 + 3.6,
                "text-anchor": "middle",
                "font-size": kFontSize,
                fill: known ? text_on(fill) : theme.faint,
              },
              !known
                ? "–"
                : chart.words
                  ? fitted(chart.words[row_index]?.[column] ?? "", cell.width - 5, kFontSize)
                  : format_number(value, chart.format),
            ),
          );
        const chosen = chart.chosen?.row === row_index && chart.chosen.column === column;
        return s("rect", {
          role: "gridcell",
          x: x + gap / 2,
          y: y + gap / 2,
          width: cell.width - gap,
          height: cell.height - gap,
          rx: 2,
          fill,
          stroke: known ? null : theme.line,
          tabindex: -1,
          "aria-label": cell_words(chart, row_index, column),
          "aria-selected": chosen ? "true" : null,
          "data-row": row_index,
          "data-column": column,
        });
      }),
    ),
  );
  const label = { "font-size": 11, fill: theme.faint };
  const every = Math.ceil(18 / cell.width);
  const every_row = Math.ceil(14 / cell.height);
  return s(
    "svg",
    {
      width: layout.width,
      height: layout.height,
      viewBox: `0 0 ${layout.width} ${layout.height}`,
      "font-family": kFont,
      role: "group",
      "aria-label": plain(chart.title),
    },
    s(
      "g",
      { "aria-hidden": "true" },
      chart.columns.labels.map(
        (text, column) =>
          column % every === 0 &&
          s("text", { x: left + (column + 0.5) * cell.width, y: top - 5, "text-anchor": "middle", ...label }, tspans(text)),
      ),
      chart.rows.labels.map(
        (text, row) =>
          row % every_row === 0 &&
          s("text", { x: left - 7, y: top + (row + 0.5) * cell.height + 3.8, "text-anchor": "end", ...label }, text),
      ),
    ),
    s("g", { role: "grid", "aria-label": chart.label ?? `${plain(chart.title)}: ${chart.rows.title} by ${chart.columns.title}` }, rows),
    s("g", { "aria-hidden": "true", "pointer-events": "none" }, numbers, chosen_ring(chart, layout, theme)),
  );
}

function chosen_ring(chart: HeatmapChart, { left, top, cell }: GridLayout, theme: Theme): Tree | null {
  if (!chart.chosen) return null;
  const { row, column } = chart.chosen;
  const box = { x: left + column * cell.width, y: top + row * cell.height, width: cell.width, height: cell.height, rx: 3, fill: "none" };
  return s(
    "g",
    {},
    s("rect", { ...box, stroke: theme.ground, "stroke-width": 4 }),
    s("rect", { ...box, stroke: theme.ink, "stroke-width": 2 }),
  );
}

export function heatmap_to_vega_lite(chart: HeatmapChart, theme: Theme): object {
  const rows = chart.cells.flatMap((row, row_index) =>
    row.map((cell, column) => [
      chart.rows.labels[row_index],
      plain(chart.columns.labels[column] ?? String(column)),
      typeof cell === "number" ? cell : null,
    ]),
  );
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["row", "column", "value"], ["row", "column"], rows),
    width: { step: 22 },
    height: { step: 20 },
    mark: "rect",
    encoding: {
      y: { field: "row", type: "ordinal", sort: null, title: chart.rows.title },
      x: { field: "column", type: "ordinal", sort: null, title: chart.columns.title, axis: { orient: "top", labelAngle: 0 } },
      color: { field: "value", type: "quantitative", title: null, scale: vega_color(theme, chart.scale) },
    },
  };
}
