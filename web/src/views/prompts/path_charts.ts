// Heat maps of path patching: senders × receivers, next to their composition by weights.
import type { Cell, HeatmapChart } from "../../chart/heatmap";
import { format_number } from "../../chart/number_format";
import { rows_of } from "../../data/report";
import type { AblatePathRow } from "../../data/report_file";
import {
  effect_of,
  effect_words,
  format_of,
  is_significant,
  largest_effect,
  measure_of,
  unclear_words,
} from "../../shaping/prompt_effects";
import type { Measure } from "../../shaping/prompt_effects";
import type { Reading } from "../../shaping/reading";

const kMostLines = 48;
const kInputs = { q: "queries", k: "keys", v: "values" } as const;
type Input = keyof typeof kInputs;
const kInputNames = ["q", "k", "v"] as const;

/** "layer 5.q" or "L5H3.q": one input of a layer or head. Undefined for the logits and for several receivers. */
function single_receiver({ receiver }: AblatePathRow): { name: string; input: Input } | undefined {
  const [, name, input] = /^([^,]+)\.([qkv])$/.exec(receiver) ?? [];
  return name === undefined || input === undefined ? undefined : { name, input: input as Input };
}

interface Place {
  row: AblatePathRow;
  name: string; // of a line
}

/** Names of the lines with the largest effects, in their order. */
function shown_lines(places: readonly Place[], measure: Measure): { shown: string[]; all: number } {
  const sizes = new Map<string, number>();
  for (const { row, name } of places) sizes.set(name, Math.max(sizes.get(name) ?? 0, Math.abs(effect_of(row, measure) ?? 0)));
  const largest_first = [...sizes].sort(([, a], [, b]) => b - a).slice(0, kMostLines);
  const kept = new Set(largest_first.map(([name]) => name));
  return { shown: [...sizes.keys()].filter((name) => kept.has(name)), all: sizes.size };
}

/** Titles of lines: "layer 2" of the axis "sender layer" is "2". */
function axis_of(role: string, names: readonly string[]): { title: string; labels: string[] } {
  const all_layers = names.every((name) => name.startsWith("layer "));
  return all_layers
    ? { title: `${role} layer`, labels: names.map((name) => name.slice("layer ".length)) }
    : { title: role, labels: [...names] };
}

const cell_of = (row: AblatePathRow | undefined, measure: Measure): Cell =>
  row === undefined ? "missing" : is_significant(row, measure) ? effect_of(row, measure) : null;

function effect_scale(measure: Measure, most: number): Pick<HeatmapChart, "format" | "scale"> {
  const end = most || 1;
  const format = format_of(measure, end);
  return { format, scale: { kind: "diverging", domain: [-end, end], format } };
}

const meaning = ({ direction, is_share }: Measure): string =>
  (is_share ? "Share of the clean–corrupted gap (%) " : "Change of the metric ") +
  (direction === "denoising" ? "restored by the path" : "lost when the path is corrupted");

/** How effects are shown: the measure, its largest value, and what is not significant. */
interface Shown {
  measure: Measure;
  most: number;
  unclear: { caption: string; tip: string };
  width: number; // of the residual stream
}

/** Effects of the paths into one input, and their composition by weights, with the same rows and columns. */
function charts_of_input(rows: readonly AblatePathRow[], input: Input, { measure, most, unclear, width }: Shown): HeatmapChart[] {
  const places = rows.flatMap((row): Place[] => {
    const receiver = single_receiver(row);
    return receiver?.input === input ? [{ row, name: receiver.name }] : [];
  });
  if (places.length === 0) return [];
  const senders = shown_lines(
    places.map(({ row }) => ({ row, name: row.sender })),
    measure,
  );
  const receivers = shown_lines(places, measure);
  const at = new Map(places.map(({ row, name }) => [`${row.sender}/${name}`, row]));
  const grid = <T>(of: (row: AblatePathRow | undefined) => T) =>
    senders.shown.map((sender) => receivers.shown.map((receiver) => of(at.get(`${sender}/${receiver}`))));
  const left_out = Math.max(senders.all, receivers.all) > kMostLines;
  const shape = {
    rows: axis_of("sender", senders.shown),
    columns: axis_of("receiver", receivers.shown),
    missing: "only later layers receive",
  };
  const effects: HeatmapChart = {
    kind: "heatmap",
    name: `paths-${input}`,
    title: `Paths into ${kInputs[input]}`,
    note:
      `${meaning(measure)}. Rows: senders; columns: receivers. –: ${unclear.caption}.` +
      (left_out ? ` Only the ${kMostLines} senders and receivers with the largest effects.` : ""),
    cells: grid((row) => cell_of(row, measure)),
    details: grid((row) => (row && effect_words(row, measure)) ?? ""),
    no_number: unclear.tip,
    ...effect_scale(measure, most),
    ...shape,
  };
  const scores = places.flatMap(({ row }) => row.composition ?? []);
  if (scores.length === 0) return [effects];
  const random = 1 / Math.sqrt(width); // docs/metrics.md#composition
  const composition: HeatmapChart = {
    kind: "heatmap",
    name: `paths-${input}-composition`,
    title: `Composition by weights: ${kInputs[input]}`,
    note: `Composition score (0 to 1) of senders and receivers, mean over pairs of heads. Random heads: ${format_number(random, ".3f")}.`,
    cells: grid((row): Cell => (row === undefined ? "missing" : row.composition)),
    number_name: "composition",
    format: ".3f",
    scale: { kind: "sequential", domain: [random, Math.max(random + 0.25, ...scores)], format: ".3f" },
    ...shape,
  };
  return [effects, composition];
}

/** Effects of the paths to the logits, or to several receivers together. */
function chart_of_others(rows: readonly AblatePathRow[], { measure, most, unclear }: Shown): HeatmapChart[] {
  if (rows.length === 0) return [];
  const { shown: senders } = shown_lines(
    rows.map((row) => ({ row, name: row.sender })),
    measure,
  );
  const receivers = [...new Set(rows.map(({ receiver }) => receiver))];
  const at = new Map(rows.map((row) => [`${row.sender}/${row.receiver}`, row]));
  const grid = <T>(of: (row: AblatePathRow | undefined) => T) =>
    receivers.map((receiver) => senders.map((sender) => of(at.get(`${sender}/${receiver}`))));
  const to_logits = receivers.every((receiver) => receiver === "logits");
  const chart: HeatmapChart = {
    kind: "heatmap",
    name: to_logits ? "paths-logits" : "paths-receivers",
    title: to_logits ? "Direct paths to the logits" : "Paths to the receivers",
    note: `${meaning(measure)}. Columns: senders. –: ${unclear.caption}.`,
    cells: grid((row) => cell_of(row, measure)),
    details: grid((row) => (row && effect_words(row, measure)) ?? ""),
    no_number: unclear.tip,
    ...effect_scale(measure, most),
    rows: { title: "receiver", labels: receivers },
    columns: axis_of("sender", senders),
  };
  return [chart];
}

/** The charts of one input in each entry, then that of the logits. */
export function path_charts({ report, model }: Reading): HeatmapChart[][] {
  const rows = rows_of(report, "ablate_path", model.name);
  const measure = measure_of(rows);
  if (measure === undefined) return [];
  const unclear = unclear_words(rows);
  const shown = (of: readonly AblatePathRow[]): Shown => ({
    measure,
    most: largest_effect(of, measure),
    unclear,
    width: model.hidden_size,
  });
  const of_inputs = rows.filter((row) => single_receiver(row) !== undefined);
  const others = rows.filter((row) => single_receiver(row) === undefined);
  return [
    ...kInputNames.map((input) => charts_of_input(of_inputs, input, shown(of_inputs))),
    chart_of_others(others, shown(others)),
  ].filter((charts) => charts.length > 0);
}
