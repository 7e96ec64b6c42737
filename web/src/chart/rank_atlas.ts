// The rank atlas: energy ranks of the whole model. Rows: layers; columns: matrices.
import type { Matrix } from "../data/report_file";
import type { ChartFields, Size } from "./chart_fields";
import { kVegaLiteSchema, vega_data } from "./csv";
import { mix } from "./oklab";
import { kFont, text_color, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { fitted, kMatrixMeanings, matrix_words, plain, text_width, tspans } from "./rich_text";

export interface AtlasCell {
  rank: number;
  null_rank: number;
  possible: number;
  energy?: ArrayLike<number>; // cumulative energy, 0 to 1
}

export interface AtlasChart extends ChartFields {
  kind: "atlas";
  matrices: readonly Matrix[];
  layers: readonly number[];
  cells: (AtlasCell | "missing" | { skipped: string })[][]; // [layer][matrix]
}

const kGroups: readonly (readonly Matrix[])[] = [
  ["q", "k", "v", "o"],
  ["qk", "ov", "kv"],
  ["gate", "up", "down"],
  ["router", "shared_gate", "shared_up", "shared_down"],
];

export function atlas_layout(chart: AtlasChart, { width }: Size) {
  const [left, gap] = [26, 12];
  const group = (matrix: Matrix) => kGroups.findIndex((each) => each.includes(matrix));
  const opens_group = (matrix: Matrix, index: number) => {
    const before = chart.matrices[index - 1];
    return before !== undefined && group(matrix) !== group(before);
  };
  const gaps = chart.matrices.filter(opens_group).length;
  const cell = Math.min(96, (width - left - gaps * gap) / Math.max(1, chart.matrices.length));
  const row = chart.layers.length > 16 ? 18 : Math.max(26, Math.min(chart.layers.length > 8 ? 46 : 58, cell * 0.94));
  const top = with_meanings(cell) ? 56 : 30;
  let x = left;
  const columns = chart.matrices.map((matrix, index) => {
    if (opens_group(matrix, index)) x += gap;
    const left_of_cell = x;
    x += cell;
    return { matrix, x: left_of_cell };
  });
  return { width, height: top + chart.layers.length * row + 4, top, cell, row, columns };
}

export function atlas_words(chart: AtlasChart, row: number, column: number): string {
  const [cell, matrix] = [chart.cells[row]?.[column], chart.matrices[column]];
  const place = `${matrix ? plain(matrix_words(matrix)) : "no matrix"}, layer ${chart.layers[row]}`;
  if (cell === undefined || cell === "missing") return `${place}: not in this report`;
  if ("skipped" in cell) return `${place}: skipped, ${cell.skipped}`;
  return `${place}: rank ${cell.rank} of ${cell.possible} (random: ${cell.null_rank})`;
}

export function draw_atlas(chart: AtlasChart, theme: Theme, size: Size): Tree {
  const { width, height, top, cell, row, columns } = atlas_layout(chart, size);
  const drawings: Tree[] = [];
  const rows = chart.cells.map((cells, row_index) =>
    s(
      "g",
      { role: "row" },
      columns.map(({ matrix, x }, column) => {
        const value = cells[column] ?? "missing";
        const box = { x: x + 1, y: top + row_index * row + 1, width: cell - 2, height: row - 2 };
        const role = theme.roles[matrix];
        const known = value !== "missing" && !("skipped" in value);
        const lost = known ? Math.max(0, 1 - value.rank / Math.max(1, value.null_rank)) : 0;
        const fill = known ? mix(theme.ground, role, 0.1 + 0.34 * Math.min(1, lost / 0.5)) : theme.ground;
        if (known) drawings.push(inside(value, box, role, theme, row));
        else
          drawings.push(
            s(
              "text",
              { x: box.x + box.width / 2, y: box.y + row / 2 + 3, "text-anchor": "middle", "font-size": 11, fill: theme.faint },
              "–",
            ),
          );
        return s("rect", {
          role: "gridcell",
          ...box,
          fill,
          stroke: known ? null : theme.line,
          tabindex: -1,
          "aria-label": atlas_words(chart, row_index, column),
          "data-row": row_index,
          "data-column": column,
        });
      }),
    ),
  );
  const every = Math.ceil(12 / row);
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": kFont, role: "group", "aria-label": plain(chart.title) },
    s(
      "g",
      { "aria-hidden": "true" },
      columns.map(({ matrix, x }) => heading(matrix, x, cell, top, theme)),
      chart.layers.map(
        (layer, index) =>
          index % every === 0 &&
          s("text", { x: 17, y: top + (index + 0.5) * row + 3.8, "text-anchor": "end", "font-size": 11, fill: theme.faint }, String(layer)),
      ),
    ),
    s("g", { role: "grid", "aria-label": chart.label ?? `${plain(chart.title)}: layer by matrix` }, rows),
    s("g", { "aria-hidden": "true", "pointer-events": "none" }, drawings),
  );
}

const kMeaningSize = 10.4;

const with_meanings = (cell: number): boolean => cell > 50;

/** The meaning on at most two lines that fit in a cell, if possible. */
function lines_of(meaning: string, room: number): string[] {
  if (text_width(meaning, kMeaningSize) <= room) return [meaning];
  const words = meaning.split(" ");
  let first = words.shift() ?? "";
  while (words.length > 1 && text_width(`${first} ${words[0]}`, kMeaningSize) <= room) first += ` ${words.shift()}`;
  return [first, words.join(" ")].filter(Boolean).map((line) => fitted(line, room, kMeaningSize));
}

function heading(matrix: Matrix, x: number, cell: number, top: number, theme: Theme): Tree {
  return s(
    "g",
    {},
    s(
      "text",
      {
        x: x + 2,
        y: with_meanings(cell) ? 15 : top - 11,
        // The names of most matrices fit; those of routers and shared experts are longer.
        "font-size": Math.max(8, Math.min(cell > 40 ? 11.5 : 10, (cell - 2) / text_width(plain(matrix_words(matrix)), 1))),
        "font-weight": 620,
        fill: text_color(theme, { role: matrix }),
      },
      tspans(matrix_words(matrix)),
    ),
    with_meanings(cell)
      ? lines_of(kMatrixMeanings[matrix], cell - 3).map((line, index) =>
          s("text", { x: x + 2, y: 29 + index * 12, "font-size": kMeaningSize, fill: theme.faint }, line),
        )
      : null,
    s("rect", { x: x + 1, y: top - 4, width: cell - 2, height: 2.5, fill: theme.roles[matrix] }),
  );
}

// The cumulative energy as a pale area, the rank, and the bar with a tick at the random rank.
function inside(
  value: AtlasCell,
  box: { x: number; y: number; width: number; height: number },
  role: string,
  theme: Theme,
  row: number,
): Tree {
  const { x, y, width, height } = box;
  const bar = row < 24 ? 2 : 3.5;
  const bottom = y + height - bar;
  const energy = value.energy;
  let curve: Tree | null = null;
  if (energy && row >= 26) {
    const count = Math.min(24, energy.length);
    let line = "";
    for (let index = 0; index < count; ++index) {
      const from = Math.round((index * (energy.length - 1)) / Math.max(1, count - 1));
      line += `L${(x + (width * (from + 1)) / energy.length).toFixed(1)} ${(bottom - (bottom - y) * (energy[from] ?? 1)).toFixed(1)}`;
    }
    curve = s(
      "g",
      {},
      s("path", { d: `M${x.toFixed(1)} ${bottom.toFixed(1)}${line}V${bottom.toFixed(1)}Z`, fill: role, "fill-opacity": 0.16 }),
      s("path", { d: `M${x.toFixed(1)} ${bottom.toFixed(1)}${line}`, fill: "none", stroke: role, "stroke-opacity": 0.55 }),
    );
  }
  const tick = x + (width * value.null_rank) / value.possible;
  return s(
    "g",
    {},
    curve,
    s("rect", { x, y: bottom, width: (width * value.rank) / value.possible, height: bar, fill: role }),
    s("rect", { x: Math.min(tick, x + width - 1) - 0.9, y: bottom - 4, width: 1.8, height: bar + 4, fill: theme.ink }),
    // In low rows the tick is next to the number, which is placed where there are few ticks.
    s(
      "text",
      {
        x: x + (row < 24 ? width * 0.3 : width / 2),
        y: y + (height - bar) / 2 + 4.2,
        "text-anchor": "middle",
        "font-size": row < 24 ? 10 : 12.3,
        "font-weight": 640,
        fill: theme.ink,
      },
      String(value.rank),
    ),
  );
}

export function atlas_to_vega_lite(chart: AtlasChart, theme: Theme): object {
  const rows = chart.cells.flatMap((cells, row) =>
    chart.matrices.flatMap((matrix, column) => {
      const cell = cells[column] ?? "missing";
      return cell === "missing" || "skipped" in cell
        ? []
        : [[plain(matrix_words(matrix)), String(chart.layers[row]), cell.rank, cell.null_rank, cell.possible]];
    }),
  );
  const names = chart.matrices.map((matrix) => plain(matrix_words(matrix)));
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["matrix", "layer", "rank", "null_rank", "possible"], ["matrix", "layer"], rows),
    transform: [{ calculate: "max(0, 1 - datum.rank / datum.null_rank)", as: "lost" }],
    width: { step: 48 },
    height: { step: 26 },
    encoding: {
      y: { field: "layer", type: "ordinal", sort: null },
      x: { field: "matrix", type: "nominal", sort: null, title: null, axis: { orient: "top", labelAngle: 0 } },
    },
    layer: [
      {
        mark: "rect",
        encoding: {
          color: {
            field: "matrix",
            type: "nominal",
            legend: null,
            sort: null,
            scale: { domain: names, range: chart.matrices.map((matrix) => theme.roles[matrix]) },
          },
          opacity: { field: "lost", type: "quantitative", legend: null, scale: { domain: [0, 0.5], range: [0.15, 0.6], clamp: true } },
        },
      },
      { mark: "text", encoding: { text: { field: "rank", type: "quantitative" } } },
    ],
  };
}
