// What the weights say of every head, shaped into charts.
import type { StripPlotChart, StripPlotRow } from "../../chart/strip_plot";
import type { GraphChart } from "../../chart/head_graph";
import type { HeatmapChart } from "../../chart/heatmap";
import type { LinesChart } from "../../chart/lines";
import { format_number, type Format } from "../../chart/number_format";
import type { ScatterChart, ScatterPoint } from "../../chart/scatter";
import { number_at, range } from "../../data/numbers";
import { cumulative_energy, numbers, rows_of, scaled_numbers, thinned_indices } from "../../data/report";
import type { CompositionRow } from "../../data/report_file";
import { circuit_at, spectrum_at, head_figures } from "../../shaping/head_figures";
import { attention_heads, chosen_head, head_cells, head_chart, numbers_in, type HeadIndex } from "../../shaping/head_grid";
import type { Reading } from "../../shaping/reading";

export const head_heatmaps = (reading: Reading, chosen?: HeadIndex): HeatmapChart[] =>
  head_figures(reading).map((figure) => head_chart(reading, figure, chosen));

/** Which heads share the keys and values of a head; none where each has its own. */
export function shares_keys_with({ model }: Reading, head: number): { group: number; heads: number[] } | undefined {
  if (model.kv_heads >= model.heads) return undefined;
  const group_of = (each: number) => Math.floor((each * model.kv_heads) / model.heads);
  return { group: group_of(head), heads: range(model.heads).filter((each) => each !== head && group_of(each) === group_of(head)) };
}

/** Figures on a text, beside those of the weights. */
function text_figures({
  report,
  model,
}: Reading): { label: string; format: Format; domain: [number, number]; values: Map<string, number | null | undefined> }[] {
  const key = ({ layer, head }: HeadIndex) => `${layer}/${head}`;
  const rows = attention_heads(report, model.name);
  const induction = rows_of(report, "induction", model.name);
  const shares = (label: string, values: [string, number | null | undefined][]) => ({
    label,
    format: "share",
    domain: [0, 1] as [number, number],
    values: new Map(values),
  });
  return [
    {
      label: "Entropy, nats",
      format: ".2f",
      domain: [0, Math.max(1, ...rows.map((row) => row.entropy ?? 0))] as [number, number],
      values: new Map(rows.map((row) => [key(row), row.entropy])),
    },
    shares(
      "On the first token",
      rows.map((row) => [key(row), row.sink_mass]),
    ),
    shares(
      "On the token before",
      rows.map((row) => [key(row), row.previous_token]),
    ),
    shares(
      "Induction",
      induction.map((row) => [key(row), row.induction]),
    ),
  ].filter((figure) => figure.values.size > 0);
}

/** Each measure of a head as a dot among those of all heads. */
export function detail_chart(reading: Reading, place: HeadIndex): StripPlotChart {
  const from_weights = head_figures(reading).map((figure): StripPlotRow => {
    const cells = head_cells(reading, figure);
    const all = numbers_in(cells);
    const [low, high] =
      figure.format === "score" ? figure.scale(all).domain : [Math.min(0, ...all), Math.max(1, reading.model.head_dim, ...all)];
    const value = cells[place.layer]?.[place.head];
    return {
      label: figure.title,
      axis: { title: "", scale: "linear", domain: [low, high], format: figure.format },
      all,
      value: typeof value === "number" ? value : null,
    };
  });
  const on_text = text_figures(reading).map(({ label, format, domain, values }): StripPlotRow => ({
    label,
    axis: { title: "", scale: "linear", domain, format },
    all: Array.from(values.values(), (value) => value ?? null),
    value: values.get(`${place.layer}/${place.head}`) ?? null,
  }));
  return {
    kind: "dots",
    name: "head-among-heads",
    title: "Among all heads",
    note: "A tick for every head; the dot is this one.",
    rows: [...from_weights, ...on_text].filter((row) => row.all.length > 0),
  };
}

/** Cumulative energy of a head's two circuits, with that of products of random matrices. Undefined without their singular values. */
export function energy_chart(reading: Reading, place: HeadIndex): LinesChart | undefined {
  const { report } = reading;
  const rows = (["qk", "ov"] as const).flatMap((circuit) => {
    const row = spectrum_at(reading, circuit, place);
    return row?.singular_values ? [{ circuit, row, values: numbers(report, row.singular_values) }] : [];
  });
  if (rows.length === 0) return undefined;
  const line = (series: string, values: ArrayLike<number>) => {
    const energy = cumulative_energy(values);
    const kept = thinned_indices(energy.length);
    return { series, x: [0, ...kept.map((index) => index + 1)], y: [0, ...kept.map((index) => number_at(energy, index))] };
  };
  // Circuits of as many directions have the same null.
  const nulls = [
    ...new Map(
      rows.flatMap(({ row, values }) => (row.random_singular_values ? [[values.length, row.random_singular_values] as const] : [])),
    ).values(),
  ];
  return {
    kind: "lines",
    name: "head-energy",
    title: "Energy held by the first directions",
    panel_height: 190,
    x: { title: "directions", scale: "linear", domain: [0, Math.max(...rows.map(({ values }) => values.length))], integers: true },
    y: { title: "", scale: "linear", domain: [0, 1], format: "percent" },
    series: [
      { key: "qk", label: "QK", colour: { role: "qk" } },
      { key: "ov", label: "OV", colour: { role: "ov" } },
      { key: "null", label: "random", colour: "null" },
    ],
    panels: [
      {
        lines: [
          ...nulls.map((slice) => line("null", scaled_numbers(report, slice))),
          ...rows.map(({ circuit, values }) => line(circuit, values)),
        ],
      },
    ],
  };
}

/** Symmetry of QK against the copying score of OV; undefined where no head has both. */
export function kinds_chart(
  reading: Reading,
  chosen?: HeadIndex,
): (ScatterChart & { points: (ScatterPoint & { place: HeadIndex })[] }) | undefined {
  const { model } = reading;
  const points = range(model.layers).flatMap((layer) =>
    range(model.heads).flatMap((head) => {
      const place = { layer, head };
      const [x, y] = [circuit_at(reading, "qk", place)?.symmetry, circuit_at(reading, "ov", place)?.copying_score];
      if (typeof x !== "number" || typeof y !== "number") return [];
      return [
        {
          x,
          y,
          place,
          colour: { layer, of: model.layers },
          label: `layer ${layer}, head ${head}`,
          chosen: chosen?.layer === layer && chosen.head === head,
        },
      ];
    }),
  );
  if (points.length === 0) return undefined;
  const quarters = (round: (value: number) => number, value: number) => round(value * 4) / 4;
  const low = quarters(Math.floor, Math.min(-0.25, ...points.map((point) => point.x)));
  const high = quarters(Math.ceil, Math.max(0.5, ...points.map((point) => point.x)));
  return {
    kind: "scatter",
    name: "heads-kinds",
    title: "Symmetry and copying score",
    note: "Each point is a head. Both are of its weights: what it does on text they do not tell.",
    x: {
      title: "symmetry of QK",
      scale: "linear",
      domain: [low, high],
      format: "score",
      ticks: range(Math.round((high - low) * 4) + 1).map((index) => low + index / 4),
    },
    y: { title: "copying score of OV", scale: "linear", domain: [-1, 1], format: "score", ticks: [-1, -0.5, 0, 0.5, 1] },
    zero: true,
    points,
    layers: model.layers,
  };
}

export interface CompositionChoice {
  pairs: number; // at most so many
  around?: HeadIndex; // only those of this head
}

const kReads: Readonly<Record<CompositionRow["kind"], string>> = { q: "queries", k: "keys", v: "values" };

/** The pairs of an earlier head and a later one whose weights align most; undefined where no pair is stronger than chance. */
export function composition_chart(reading: Reading, { pairs, around }: CompositionChoice, chosen?: HeadIndex): GraphChart | undefined {
  const { report, model } = reading;
  const touches = (row: CompositionRow, { layer, head }: HeadIndex) =>
    (row.layer === layer && row.head === head) || (row.receiver_layer === layer && row.receiver_head === head);
  const strongest = rows_of(report, "composition", model.name)
    .flatMap((row) => (row.excess !== null && row.excess > 0 && (!around || touches(row, around)) ? [{ ...row, excess: row.excess }] : []))
    .sort((a, b) => b.excess - a.excess)
    .slice(0, pairs);
  if (strongest.length === 0 && !around) return undefined;
  const most = Math.max(0.25, ...strongest.map((row) => row.excess)); // of scores from 0 to 1, that much above chance is strong
  return {
    kind: "graph",
    name: around ? "heads-composition-of-one" : "heads-composition",
    title: "Composition of heads",
    note:
      "Layers from left to right, heads down. A curve joins a head to a later one whose weights for queries, keys or values " +
      "align with what it writes; the wider, the further above chance.",
    layers: model.layers,
    heads: model.heads,
    ...(chosen ? { chosen } : {}),
    series: (["q", "k", "v"] as const).map((kind) => ({
      key: kind,
      label: `in its ${kReads[kind]}`,
      colour: { role: kind },
      ...(kind === "q" ? {} : { dash: kind === "k" ? "6 3" : "2 3" }),
    })),
    edges: strongest.map((row) => ({
      series: row.kind,
      from: { layer: row.layer, head: row.head },
      to: { layer: row.receiver_layer, head: row.receiver_head },
      strength: row.excess / most,
      label:
        `the ${kReads[row.kind]} of layer ${row.receiver_layer}, head ${row.receiver_head} align with layer ${row.layer}, head ` +
        `${row.head}: score ${format_number(row.score, ".2f")}, ${format_number(row.excess, ".2f")} above chance`,
    })),
  };
}

export function head_charts(reading: Reading) {
  const place = chosen_head(reading);
  const all = [
    ...head_heatmaps(reading).filter((chart) => numbers_in(chart.cells).length > 0),
    detail_chart(reading, place),
    energy_chart(reading, place),
    kinds_chart(reading),
    composition_chart(reading, { pairs: 40 }),
  ];
  return all.filter((chart) => chart !== undefined && (chart.kind !== "dots" || chart.rows.length > 0)) as Exclude<
    (typeof all)[number],
    undefined
  >[];
}
