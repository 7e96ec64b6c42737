// Charts of the cost and savings of compressed models.
import type { Series } from "../../chart/chart_fields";
import { grouped_bars_axis, type GroupedBarsChart } from "../../chart/grouped_bars";
import type { Cell, HeatmapChart } from "../../chart/heatmap";
import type { Line, LinesChart } from "../../chart/lines";
import { matrix_words } from "../../chart/rich_text";
import { range } from "../../data/numbers";
import { analysis, row_at, rows_of } from "../../data/report";
import type { Matrix, PlanPartRow, PlanRow } from "../../data/report_file";
import { commands_in } from "../../shaping/commands";
import type { Reading } from "../../shaping/reading";
import { chosen_row, method_rows, rise_percent, saved_share, saving_of, saving_rows } from "../../shaping/method_comparison";
import { threshold_words } from "../../shaping/shared_words";

const kDashes = [undefined, "7 2", "2 2"];

/** Perplexity increase vs. saving, one line per method, starting at the unmodified model. */
export function cost_chart(reading: Reading): LinesChart | undefined {
  const saving = saving_of(reading);
  const rows = method_rows(reading);
  const forms = [...new Set(rows.map((row) => row.method))];
  const lines = forms.flatMap((form): (Line & { rows: PlanRow[] })[] => {
    const own = saving_rows(reading, form, saving);
    if (own.length === 0) return [];
    return [{ series: form, x: [0, ...own.map((row) => saved_share(reading, row, saving))], y: [0, ...own.map(rise_percent)], rows: own }];
  });
  if (lines.length === 0) return undefined;
  const rises = lines.flatMap((line) => line.rows.map(rise_percent));
  const most_saved = Math.max(...lines.flatMap((line) => line.rows.map((row) => saved_share(reading, row, saving))));
  const chosen = chosen_row(reading);
  const place = chosen && lines.find((line) => line.series === chosen.method)?.rows.indexOf(chosen);
  return {
    kind: "lines",
    name: "plan-cost",
    title: saving === "parameters" ? "Perplexity vs. parameters saved" : "Perplexity vs. KV cache saved",
    note:
      "Perplexity increase on the evaluation text, measured without retraining. Better: lower and further right. Ring: selected model. " +
      "Short dashes: saves nothing in stock transformers.",
    x: {
      title: saving === "parameters" ? "parameters saved" : "KV cache saved",
      scale: "linear",
      domain: [0, Math.min(1, most_saved * 1.12)],
      format: "percent",
    },
    y: {
      title: "perplexity increase (%)",
      scale: "symlog",
      domain: [Math.min(0, ...rises), Math.max(1, ...rises) * 1.15],
      format: ".3~r",
    },
    series: lines.map((line): Series => {
      const index = forms.findIndex((form) => form === line.series);
      const loads = line.rows.every((row) => row.loadable);
      const dash = loads ? kDashes[Math.floor(index / 6)] : "2 2";
      return { key: line.series, label: line.series, color: { model: index % 6 }, ...(dash === undefined ? {} : { dash }) };
    }),
    points: true,
    panel_height: 340,
    panels: [{ lines }],
    ...(chosen && place !== undefined && place >= 0 ? { chosen: { series: chosen.method, index: place + 1 } } : {}),
  };
}

/** The row at a vertex of a line. Undefined at the unmodified model. */
export function row_at_vertex(reading: Reading, form: string, vertex: number): number | undefined {
  const row = saving_rows(reading, form, saving_of(reading))[vertex - 1];
  return row && method_rows(reading).indexOf(row);
}

const by_layer = (rows: readonly PlanPartRow[]) => rows.filter((row): row is PlanPartRow & { layer: number } => row.layer !== null);

/** Matrix rows as a layer × matrix grid. */
function matrix_grid(rows: readonly PlanPartRow[], value: (row: PlanPartRow) => Cell) {
  const placed = by_layer(rows);
  const layers = [...new Set(placed.map((row) => row.layer))].sort((a, b) => a - b);
  const matrices = [...new Set(placed.flatMap((row) => row.matrix ?? []))];
  const cells = layers.map((layer) =>
    matrices.map((matrix): Cell => {
      const row = placed.find((each) => each.layer === layer && each.matrix === matrix);
      return row ? value(row) : "missing";
    }),
  );
  return { layers, matrices, cells };
}

const grid = (layers: readonly number[], matrices: readonly string[]) => ({
  rows: { title: "layer", labels: layers.map(String) },
  columns: { title: "matrix", labels: matrices.map((matrix) => matrix_words(matrix as Matrix)) },
});

/** Planned rank of each matrix, relative to its maximum possible rank. */
export function planned_ranks(reading: Reading): HeatmapChart | undefined {
  const rows = rows_of(reading.report, "plan_ranks", reading.model.name);
  if (rows.length === 0) return undefined;
  const { layers, matrices, cells } = matrix_grid(rows, (row) =>
    row.rank === null || row.max_possible_rank === null ? 1 : row.rank / row.max_possible_rank,
  );
  const target = String(analysis(reading.report, "plan_ranks")?.parameters.target ?? "");
  const share = Number(target.replace("keep ", ""));
  return {
    kind: "heatmap",
    name: "plan-ranks",
    title: "Planned ranks",
    note:
      "Low-rank factorization: rank of each matrix relative to the maximum possible rank" +
      `${Number.isFinite(share) ? `, keeping ${Math.round(share * 100)}% of the projection parameters` : ""}. 100%: not factored. Saves ` +
      "nothing in transformers, which does not support factors.",
    ...grid(layers, matrices),
    cells,
    scale: { kind: "sequential", domain: [0, 1], format: "percent" },
    format: "percent",
  };
}

/** Energy rank of the same weights. */
export function present_ranks(reading: Reading): HeatmapChart | undefined {
  const { report, model, threshold } = reading;
  const rows = rows_of(report, "plan_ranks", model.name);
  let known = false;
  const { layers, matrices, cells } = matrix_grid(rows, (row) => {
    const own = row_at(report, "spectrum", { model: model.name, layer: row.layer ?? 0, matrix: row.matrix ?? "", head: null });
    const rank = own?.energy_rank[String(threshold)];
    if (!own || rank === undefined || rank === null) return "missing";
    known = true;
    return rank / own.max_possible_rank;
  });
  if (!known) return undefined;
  return {
    kind: "heatmap",
    name: "plan-energy-ranks",
    title: "Energy ranks of the weights",
    note:
      `Number of singular values for ${threshold_words(threshold)} of the energy, relative to the maximum possible rank. ` +
      `Uses only weights.`,
    ...grid(layers, matrices),
    cells,
    scale: { kind: "sequential", domain: [0, 1], format: "percent" },
    format: "percent",
  };
}

const kLayerParts: readonly Series[] = [
  { key: "layer", label: "layer", color: "accent" },
  { key: "attention", label: "attention", color: { role: "qk" } },
  { key: "mlp", label: "MLP", color: { role: "up" } },
];

/** Bars for each layer, its attention and its MLP, as far as there are values. */
function parts_chart(
  reading: Reading,
  values: Readonly<Record<string, (row: PlanPartRow) => number | null>>,
  chart: Pick<GroupedBarsChart, "name" | "title" | "note"> & { unit: string },
): GroupedBarsChart | undefined {
  const rows = by_layer(rows_of(reading.report, "plan_layers", reading.model.name));
  const count = reading.model.layers;
  const columns = kLayerParts.flatMap(({ key }) => {
    const heights = range(count).map((layer) => {
      const row = rows.find((each) => each.layer === layer);
      return (row && values[key]?.(row)) ?? null;
    });
    return heights.some((height) => height !== null) ? [{ series: key, heights }] : [];
  });
  if (columns.length === 0) return undefined;
  const { unit, ...head } = chart;
  return {
    kind: "columns",
    ...head,
    groups: { title: "layer", count },
    y: grouped_bars_axis(unit, count, columns),
    series: kLayerParts.filter(({ key }) => columns.some(({ series }) => series === key)),
    columns,
  };
}

/** Loss increase when one layer, attention or MLP is removed. */
export const layer_losses = (reading: Reading): GroupedBarsChart | undefined =>
  parts_chart(
    reading,
    { layer: (row) => row.loss_increase, attention: (row) => row.attention_loss_increase, mlp: (row) => row.mlp_loss_increase },
    {
      name: "plan-layers",
      title: "Removal of one layer",
      note: "Loss increase (nats) on the evaluation text when one layer, its attention or its MLP is removed.",
      unit: "loss increase (nats)",
    },
  );

/** Block influence of each layer, its attention and its MLP. */
export const layer_influence = (reading: Reading): GroupedBarsChart | undefined =>
  parts_chart(
    reading,
    { layer: (row) => row.block_influence, attention: (row) => row.attention_influence, mlp: (row) => row.mlp_influence },
    {
      name: "plan-influence",
      title: "Influence of each layer",
      note: "1 − mean cosine between input and output. An estimate of importance, not a measured loss.",
      unit: "influence",
    },
  );

export const plan_charts = (reading: Reading) =>
  [cost_chart(reading), planned_ranks(reading), present_ranks(reading), layer_losses(reading), layer_influence(reading)].flatMap(
    (chart) => chart ?? [],
  );

/** The two commands that create a row's model: plan, then shrink. */
export function commands_of({ report, model }: Reading, row: PlanRow): [string, string] | undefined {
  const again = report.file.reports.find((each) => each.id === "plan" && each.model === model.name)?.again;
  const rest = commands_in(again ?? "")[0]?.replace(/^\S+ plan /, "");
  if (!rest) return undefined;
  const space = row.target.indexOf(" ");
  const option = row.target.slice(0, space).replaceAll("_", "-");
  const plan = `attnscope plan ${rest} --method ${row.method} --${option} ${row.target.slice(space + 1)} -o plan.json`;
  return [plan, `attnscope shrink ${rest.replace(" --", " plan.json --")} -o smaller`];
}
