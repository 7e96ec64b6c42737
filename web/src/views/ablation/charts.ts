// What parts of a model are worth to the loss, and what each layer would foretell, shaped into charts.
import { grouped_bars_axis, type GroupedBarsChart } from "../../chart/grouped_bars";
import type { HeatmapChart } from "../../chart/heatmap";
import type { LinesChart } from "../../chart/lines";
import type { ScatterChart, ScatterPoint } from "../../chart/scatter";
import { counted_axis } from "../../chart/axis";
import { format_number } from "../../chart/number_format";
import { clipped } from "../../chart/rich_text";
import { range } from "../../data/numbers";
import { rows_of } from "../../data/report";
import type { AblateRow, LensGridRow } from "../../data/report_file";
import { circuit_at } from "../../shaping/head_figures";
import { attention_heads, type HeadIndex } from "../../shaping/head_grid";
import type { Reading } from "../../shaping/reading";
import { shown_token } from "../../shaping/tokens";

const parts_of = ({ report, model }: Reading, component: AblateRow["component"]): AblateRow[] =>
  rows_of(report, "ablate", model.name).filter((row) => row.component === component);

/** Whether an increase is beyond two standard errors; one without an error is not judged. */
export const is_significant = (row: AblateRow): boolean =>
  row.loss_increase_error === null || Math.abs(row.loss_increase) > 2 * row.loss_increase_error;

/** Layers down, heads across: by how much the loss rises without each. Undefined where no head was replaced. */
export function heads_chart(reading: Reading, chosen?: HeadIndex): HeatmapChart | undefined {
  const rows = parts_of(reading, "head");
  if (rows.length === 0) return undefined;
  const { model } = reading;
  const at = new Map(rows.map((row) => [`${row.layer}/${row.head}`, row]));
  const cells = range(model.layers).map((layer) =>
    range(model.heads).map((head) => {
      const row = at.get(`${layer}/${head}`);
      return row === undefined ? ("missing" as const) : is_significant(row) ? 1000 * row.loss_increase : null;
    }),
  );
  const most = Math.max(1, ...cells.flat().map((cell) => (typeof cell === "number" ? Math.abs(cell) : 0)));
  return {
    kind: "heatmap",
    name: "matters-heads",
    title: "Heads",
    note: "Thousandths of a nat by which the loss rises where the head alone is replaced; –: within two standard errors.",
    cells,
    format: "+.0f",
    scale: { kind: "diverging", domain: [-most, most], transform: "symlog", format: "+.0f" },
    rows: { title: "layer", labels: range(model.layers).map(String) },
    columns: { title: "head", labels: range(model.heads).map(String) },
    ...(chosen ? { chosen: { row: chosen.layer, column: chosen.head } } : {}),
  };
}

/** For each layer its attention and its MLP. What dwarfs the others, usually MLP 0, is cut off by the axis. */
export function layers_chart(reading: Reading): GroupedBarsChart | undefined {
  const columns = (["attention", "mlp"] as const).flatMap((series) => {
    const rows = parts_of(reading, series);
    if (rows.length === 0) return [];
    const at = new Map(rows.map((row) => [row.layer, row]));
    const of_layers = <T>(of: (row: AblateRow | undefined) => T) => range(reading.model.layers).map((layer) => of(at.get(layer)));
    return [
      {
        series,
        heights: of_layers((row) => row?.loss_increase ?? null),
        errors: of_layers((row) => row?.loss_increase_error ?? null),
        grey: of_layers((row) => row !== undefined && !is_significant(row)),
      },
    ];
  });
  if (columns.length === 0) return undefined;
  return {
    kind: "columns",
    name: "matters-layers",
    title: "Layers",
    note:
      "Nats by which the loss rises where all heads of a layer, or its MLP, are replaced; whiskers: one standard error. Grey: within " +
      "two of 0.",
    groups: { title: "layer", count: reading.model.layers },
    y: grouped_bars_axis("loss increase, nats", reading.model.layers, columns),
    series: [
      { key: "attention", label: "attention", colour: { role: "qk" } },
      { key: "mlp", label: "MLP", colour: { role: "up" } },
    ],
    columns,
  };
}

/** What the weights of a head would make of the tokens it reads, against what happens on the text. */
export function copying_effect_chart(
  reading: Reading,
  chosen?: HeadIndex,
): (ScatterChart & { points: (ScatterPoint & { place: HeadIndex })[] }) | undefined {
  const { report, model } = reading;
  const worth = new Map(parts_of(reading, "head").map((row) => [`${row.layer}/${row.head}`, row]));
  const largest_effect = Math.max(1e-9, ...Array.from(worth.values(), (row) => Math.abs(row.loss_increase)));
  const points = attention_heads(report, model.name).flatMap(({ layer, head, raises }) => {
    const score = circuit_at(reading, "ov", { layer, head })?.copying_score;
    if (typeof score !== "number" || typeof raises !== "number") return [];
    const row = worth.get(`${layer}/${head}`);
    return [
      {
        x: score,
        y: raises,
        place: { layer, head },
        colour: { layer, of: model.layers },
        label: `layer ${layer}, head ${head}${row ? `, loss increase ${format_number(row.loss_increase, ".3f")}` : ""}`,
        chosen: chosen?.layer === layer && chosen.head === head,
        ...(row ? { size: Math.abs(row.loss_increase) / largest_effect } : {}),
      },
    ];
  });
  if (points.length === 0) return undefined;
  const most = Math.max(0.1, ...points.map((point) => Math.abs(point.y)));
  return {
    kind: "scatter",
    name: "matters-claim",
    title: "Claim against effect",
    note:
      "Across: the copying score of a head's weights. Up: what it adds, on the text, to the logits of the tokens that it reads." +
      (worth.size > 0 ? " The larger, the more the loss changes without the head." : ""),
    x: { title: "copying score of OV", scale: "linear", domain: [-1, 1], format: "score", ticks: [-1, -0.5, 0, 0.5, 1] },
    y: { title: "raises, logits", scale: "linear", domain: [-most, most], format: "score" },
    zero: true,
    points,
    layers: model.layers,
  };
}

/** Loss, entropy and KL of every state of the stream. */
export function lens_chart(reading: Reading): LinesChart | undefined {
  const rows = rows_of(reading.report, "lens", reading.model.name).filter((row) => row.state === "layer");
  const last = rows[rows.length - 1];
  if (!last) return undefined;
  const even = reading.model.vocabulary ? Math.log(reading.model.vocabulary) : Math.max(...rows.map((row) => row.entropy));
  const ceiling = Math.max(even, 1.05 * last.loss); // the model's own loss is always there
  const above = rows.filter((row) => Math.max(row.loss, row.kl) > ceiling).map((row) => row.layer);
  const line = (series: string, value: (row: (typeof rows)[number]) => number) => ({
    series,
    x: rows.map((row) => row.layer),
    y: rows.map((row) => (value(row) > ceiling ? null : value(row))),
  });
  return {
    kind: "lines",
    name: "lens",
    title: "From layer to layer",
    note:
      `What the stream would foretell if each layer were the last: the raw lens. Dashed: the model's own loss.` +
      (above.length > 0 ? ` Off the scale in layer ${above.join(", ")}: there the lens does not fit.` : ""),
    x: counted_axis("layer", reading.model.layers + 1),
    y: { title: "nats", scale: "linear", domain: [0, ceiling] },
    series: [
      { key: "loss", label: "loss", colour: "accent" },
      { key: "entropy", label: "entropy", colour: { role: "k" } },
      { key: "kl", label: "KL from the model", colour: { role: "o" } },
    ],
    points: true,
    rule: last.loss,
    panels: [{ lines: [line("loss", (row) => row.loss), line("entropy", (row) => row.entropy), line("kl", (row) => row.kl)] }],
  };
}

/** For the first tokens of the text, what each state takes for the likeliest next, and how far down it has what the model ends with. */
export function lens_grid_chart(reading: Reading): HeatmapChart | undefined {
  const rows = rows_of(reading.report, "lens_grid", reading.model.name).filter((row) => row.state === "layer");
  if (rows.length === 0) return undefined;
  const tokens = Math.max(...rows.map((row) => row.position)) + 1;
  const states = Math.max(...rows.map((row) => row.layer)) + 1;
  const at = new Map(rows.map((row) => [`${row.position}/${row.layer}`, row]));
  const grid = <T>(of: (row: LensGridRow | undefined) => T) =>
    range(tokens).map((position) => range(states).map((layer) => of(at.get(`${position}/${layer}`))));
  const token = (text: string | null, id: number) => (text === null ? `#${id}` : shown_token(text));
  const kLongest = 10;
  return {
    kind: "heatmap",
    name: "lens-grid",
    title: "Token by token",
    note:
      "Down: the text. Across: the stream before each layer, and at last what the model foretells. In a cell: the " +
      "likeliest next token there; " +
      "its colour: the rank of the model’s own answer, the stronger the nearer to 1.",
    cells: grid((row) => row?.rank ?? ("missing" as const)),
    words: grid((row) => (row ? token(row.top_text, row.top_token) : "")),
    format: "tick",
    scale: { kind: "sequential", domain: [Math.max(100, reading.model.vocabulary ?? 0), 1], transform: "log", format: "tick" },
    rows: {
      title: "token",
      labels: range(tokens).map((position) => {
        const row = at.get(`${position}/0`);
        return `${position} ${row ? clipped(token(row.text, row.token_id), kLongest) : ""}`;
      }),
    },
    columns: { title: "layer", labels: range(states).map(String) },
  };
}

export const ablation_charts = (reading: Reading) =>
  [heads_chart(reading), layers_chart(reading), copying_effect_chart(reading), lens_chart(reading), lens_grid_chart(reading)].flatMap(
    (chart) => chart ?? [],
  );
