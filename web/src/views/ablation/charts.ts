// Charts of ablation effects and of the logit lens.
import { grouped_bars_axis, type GroupedBarsChart } from "../../chart/grouped_bars";
import type { HeatmapChart } from "../../chart/heatmap";
import type { LinesChart } from "../../chart/lines";
import type { ScatterChart, ScatterPoint } from "../../chart/scatter";
import { counted_axis } from "../../chart/axis";
import { format_number } from "../../chart/number_format";
import { clipped, head_name } from "../../chart/rich_text";
import { range } from "../../data/numbers";
import { rows_of } from "../../data/report";
import type { AblateRow, LensGridRow } from "../../data/report_file";
import { circuit_at } from "../../shaping/head_figures";
import { attention_heads, type HeadIndex } from "../../shaping/head_grid";
import type { Reading } from "../../shaping/reading";
import { layers_words } from "../../shaping/shared_words";
import { shown_token } from "../../shaping/tokens";

const parts_of = ({ report, model }: Reading, component: AblateRow["component"]): AblateRow[] =>
  rows_of(report, "ablate", model.name).filter((row) => row.component === component);

/** Whether a loss increase is beyond 2 standard errors. Without a standard error, it counts as significant. */
export const is_significant = (row: AblateRow): boolean =>
  row.loss_increase_error === null || Math.abs(row.loss_increase) > 2 * row.loss_increase_error;

const has_errors = (rows: readonly AblateRow[]): boolean => rows.some((row) => row.loss_increase_error !== null);

/** Layer × head heatmap of the loss increase under ablation, with a last column for mixers. Undefined if no head was ablated. */
export function heads_chart(reading: Reading, chosen?: HeadIndex): HeatmapChart | undefined {
  const rows = parts_of(reading, "head");
  if (rows.length === 0) return undefined;
  const { model } = reading;
  const mixers = parts_of(reading, "mixer");
  const at = new Map([...rows, ...mixers].map((row) => [`${row.layer}/${row.head ?? "mixer"}`, row]));
  const columns = [...range(model.heads).map(String), ...(mixers.length > 0 ? ["mixer"] : [])];
  const cells = range(model.layers).map((layer) =>
    columns.map((column) => {
      const row = at.get(`${layer}/${column}`);
      return row === undefined ? ("missing" as const) : is_significant(row) ? 1000 * row.loss_increase : null;
    }),
  );
  const most = Math.max(1, ...cells.flat().map((cell) => (typeof cell === "number" ? Math.abs(cell) : 0)));
  return {
    kind: "heatmap",
    name: "ablation-heads",
    title: "Ablation effect of each head",
    note:
      `Loss increase (millinats) when one head ${mixers.length > 0 ? "or mixer " : ""}is mean-ablated. Rows: layers; columns: heads` +
      `${mixers.length > 0 ? ", then the mixer that a layer has in place of attention or next to it" : ""}.` +
      (has_errors(rows) ? " –: within 2 standard errors of 0." : ""),
    cells,
    no_number: "within 2 standard errors of 0",
    format: "+.0f",
    scale: { kind: "diverging", domain: [-most, most], transform: "symlog", format: "+.0f" },
    rows: { title: "layer", labels: range(model.layers).map(String) },
    columns: { title: "head", labels: columns },
    ...(chosen ? { chosen: { row: chosen.layer, column: chosen.head } } : {}),
  };
}

/** Bars for the attention, mixer and MLP of each layer. Bars much higher than the others, usually MLP 0, are clipped. */
export function layers_chart(reading: Reading): GroupedBarsChart | undefined {
  const mixes = parts_of(reading, "mixer").length > 0;
  const columns = (["attention", "mixer", "mlp"] as const).flatMap((series) => {
    const rows = parts_of(reading, series);
    if (rows.length === 0) return [];
    const at = new Map(rows.map((row) => [row.layer, row]));
    const of_layers = <T>(of: (row: AblateRow | undefined) => T) => range(reading.model.layers).map((layer) => of(at.get(layer)));
    return [
      {
        series,
        heights: of_layers((row) => row?.loss_increase ?? null),
        errors: of_layers((row) => row?.loss_increase_error ?? null),
        gray: of_layers((row) => row !== undefined && !is_significant(row)),
      },
    ];
  });
  if (columns.length === 0) return undefined;
  return {
    kind: "columns",
    name: "ablation-layers",
    title: `Ablation effect of attention${mixes ? ", mixer" : ""} and MLP`,
    note:
      `Loss increase (nats) when the attention${mixes ? ", the mixer" : ""} or the MLP of one layer is mean-ablated.` +
      (has_errors((["attention", "mixer", "mlp"] as const).flatMap((part) => parts_of(reading, part)))
        ? " Whiskers: 1 standard error. Gray: within 2 standard errors of 0."
        : ""),
    groups: { title: "layer", count: reading.model.layers },
    y: grouped_bars_axis("loss increase (nats)", reading.model.layers, columns),
    series: [
      { key: "attention", label: "attention", color: { role: "qk" } },
      ...(mixes ? [{ key: "mixer", label: "mixer", color: { role: "v" as const } }] : []),
      { key: "mlp", label: "MLP", color: { role: "up" } },
    ],
    columns,
  };
}

/** Loss increase against the number of ablated heads, in order of their effect and in random orders. */
export function cumulative_chart({ report, model }: Reading): LinesChart | undefined {
  const rows = rows_of(report, "ablate_cumulative", model.name);
  if (rows.length === 0) return undefined;
  const orders = [...new Set(rows.map((row) => row.draw))];
  const all = Math.max(...rows.map((row) => row.removed));
  const increases = rows.map((row) => row.loss_increase);
  const [least, most] = [Math.min(0, ...increases), Math.max(0.001, ...increases)];
  return {
    kind: "lines",
    name: "ablation-cumulative",
    title: "Ablation of more and more heads",
    note:
      "Loss increase (nats) when heads are ablated together. By effect: the heads with the smallest loss increase alone, on this text, " +
      `first. ${orders.length - 1} random orders as a baseline.`,
    x: counted_axis("heads ablated", all + 1),
    y: { title: "loss increase (nats)", scale: "linear", domain: [least, most + 0.05 * (most - least)] },
    series: [
      { key: "effect", label: "by effect", color: "accent" },
      { key: "random", label: "random order", color: { role: "o" } },
    ],
    rule: 0,
    panels: [
      {
        lines: orders.map((draw) => {
          const of_order = rows.filter((row) => row.draw === draw);
          return {
            series: draw === null ? "effect" : "random",
            x: [0, ...of_order.map((row) => row.removed)],
            y: [0, ...of_order.map((row) => row.loss_increase)],
            ...(draw === null ? {} : { label: `random order ${draw + 1}` }),
          };
        }),
      },
    ],
  };
}

/** Heatmap of the interaction of each two heads. */
export function pairs_chart({ report, model }: Reading): HeatmapChart | undefined {
  const rows = rows_of(report, "ablate_pairs", model.name);
  const pairs = rows.filter((row) => row.count === 2);
  if (pairs.length === 0) return undefined;
  const heads = rows.filter((row) => row.count === 1).map((row) => row.heads);
  const at = new Map(pairs.map((row) => [row.heads, row]));
  const cells = heads.map((one) =>
    heads.map((other) => {
      const row = at.get(`${one},${other}`) ?? at.get(`${other},${one}`);
      if (row?.interaction === undefined || row.interaction === null) return "missing" as const;
      const error = row.interaction_error;
      return error !== null && Math.abs(row.interaction) <= 2 * error ? null : 1000 * row.interaction;
    }),
  );
  const most = Math.max(1, ...cells.flat().map((cell) => (typeof cell === "number" ? Math.abs(cell) : 0)));
  return {
    kind: "heatmap",
    name: "ablation-pairs",
    title: "Interaction of pairs of heads",
    note:
      "Loss increase (millinats) when two heads are ablated together, beyond the sum of each alone. Positive: one replaces the other. " +
      "Negative: they depend on each other." +
      (pairs.some((row) => row.interaction_error !== null) ? " –: within 2 standard errors of 0." : ""),
    cells,
    no_number: "within 2 standard errors of 0",
    format: "+.0f",
    scale: { kind: "diverging", domain: [-most, most], transform: "symlog", format: "+.0f" },
    rows: { title: "head", labels: heads },
    columns: { title: "head", labels: heads },
  };
}

/** Copying score from the weights vs. direct effect on the attended token's logit, measured on the text. */
export function copying_effect_chart(
  reading: Reading,
  chosen?: HeadIndex,
): (ScatterChart & { points: (ScatterPoint & { place: HeadIndex })[] }) | undefined {
  const { report, model } = reading;
  const ablated = new Map(parts_of(reading, "head").map((row) => [`${row.layer}/${row.head}`, row]));
  const largest_effect = Math.max(1e-9, ...Array.from(ablated.values(), (row) => Math.abs(row.loss_increase)));
  const points = attention_heads(report, model.name).flatMap(({ layer, head, attended_token_effect: effect }) => {
    const score = circuit_at(reading, "ov", { layer, head })?.copying_score;
    if (typeof score !== "number" || typeof effect !== "number") return [];
    const row = ablated.get(`${layer}/${head}`);
    return [
      {
        x: score,
        y: effect,
        place: { layer, head },
        color: { layer, of: model.layers },
        label: `${head_name({ layer, head })}${row ? `, loss increase ${format_number(row.loss_increase, ".3f")}` : ""}`,
        chosen: chosen?.layer === layer && chosen.head === head,
        ...(row ? { size: Math.abs(row.loss_increase) / largest_effect } : {}),
      },
    ];
  });
  if (points.length === 0) return undefined;
  const most = Math.max(0.1, ...points.map((point) => Math.abs(point.y)));
  return {
    kind: "scatter",
    name: "ablation-copying",
    title: "Copying score vs. measured effect",
    note:
      "Horizontal: OV copying score from the weights. Vertical: direct effect on the attended token's logit, measured on the text." +
      (ablated.size > 0 ? " Larger points: larger ablation effect." : ""),
    x: { title: "OV copying score", scale: "linear", domain: [-1, 1], format: "score", ticks: [-1, -0.5, 0, 0.5, 1] },
    y: { title: "direct effect (logits)", scale: "linear", domain: [-most, most], format: "score" },
    zero: true,
    points,
    layers: model.layers,
  };
}

/** States before each layer and after the last one, each with its index: that of the layer it enters. */
function lens_states<Row extends { layer: number; state: string }>(rows: readonly Row[]): (Row & { index: number })[] {
  return rows
    .filter(({ state }) => state === "resid_pre" || state === "resid_post")
    .map((row) => ({ ...row, index: row.state === "resid_post" ? row.layer + 1 : row.layer }));
}

/** Logit lens: loss, entropy and KL divergence at every layer. */
export function lens_chart(reading: Reading): LinesChart | undefined {
  const rows = lens_states(rows_of(reading.report, "lens", reading.model.name));
  const last = rows[rows.length - 1];
  if (!last) return undefined;
  const uniform = reading.model.vocab_size ? Math.log(reading.model.vocab_size) : Math.max(...rows.map((row) => row.entropy));
  const ceiling = Math.max(uniform, 1.05 * last.loss); // always includes the model's loss
  const above = rows.filter((row) => Math.max(row.loss, row.kl) > ceiling).map(({ index }) => index);
  const line = (series: string, value: (row: (typeof rows)[number]) => number) => ({
    series,
    x: rows.map(({ index }) => index),
    y: rows.map((row) => (value(row) > ceiling ? null : value(row))),
  });
  return {
    kind: "lines",
    name: "lens",
    title: "Logit lens by layer",
    note:
      "Loss, entropy and KL divergence of the prediction from the residual stream before each layer" +
      `${last.state === "resid_post" ? ` (${last.index}: the model's output)` : ""}. Dashed: the model's loss.` +
      (above.length > 0 ? ` Above the scale: ${layers_words(above)}.` : ""),
    x: counted_axis("layer", reading.model.layers + 1),
    y: { title: "nats", scale: "linear", domain: [0, ceiling] },
    series: [
      { key: "loss", label: "loss", color: "accent" },
      { key: "entropy", label: "entropy", color: { role: "k" } },
      { key: "kl", label: "KL divergence from the model", color: { role: "o" } },
    ],
    points: true,
    rule: last.loss,
    panels: [{ lines: [line("loss", (row) => row.loss), line("entropy", (row) => row.entropy), line("kl", (row) => row.kl)] }],
  };
}

/** Logit lens for the first tokens of the text: top-1 token at each layer, and the rank of the model's final prediction. */
export function lens_grid_chart(reading: Reading): HeatmapChart | undefined {
  const rows = lens_states(rows_of(reading.report, "lens_grid", reading.model.name));
  if (rows.length === 0) return undefined;
  const tokens = Math.max(...rows.map((row) => row.position)) + 1;
  const states = Math.max(...rows.map(({ index }) => index)) + 1;
  const at = new Map(rows.map((row) => [`${row.position}/${row.index}`, row]));
  const grid = <T>(of: (row: LensGridRow | undefined) => T) =>
    range(tokens).map((position) => range(states).map((layer) => of(at.get(`${position}/${layer}`))));
  const token = (text: string | null, id: number) => (text === null ? `#${id}` : shown_token(text));
  const kLongest = 10;
  return {
    kind: "heatmap",
    name: "lens-grid",
    title: "Logit lens by token",
    note:
      "Rows: tokens of the text. Columns: residual stream before each layer, then the model's output. Cell: top-1 next token. Color: " +
      "rank of the model's final prediction (strongest: rank 1).",
    cells: grid((row) => row?.rank ?? ("missing" as const)),
    words: grid((row) => (row ? token(row.top_text, row.top_token) : "")),
    number_name: "rank of the final prediction",
    format: "tick",
    scale: { kind: "sequential", domain: [Math.max(100, reading.model.vocab_size ?? 0), 1], transform: "log", format: "tick" },
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
  [
    heads_chart(reading),
    layers_chart(reading),
    cumulative_chart(reading),
    pairs_chart(reading),
    copying_effect_chart(reading),
    lens_chart(reading),
    lens_grid_chart(reading),
  ].flatMap((chart) => chart ?? []);
