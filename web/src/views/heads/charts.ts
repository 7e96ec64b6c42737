// Charts of head measures from the weights.
import type { StripPlotChart, StripPlotRow } from "../../chart/strip_plot";
import type { GraphChart } from "../../chart/head_graph";
import type { HeatmapChart } from "../../chart/heatmap";
import type { LinesChart } from "../../chart/lines";
import { format_number, type Format } from "../../chart/number_format";
import { head_name } from "../../chart/rich_text";
import type { ScatterChart, ScatterPoint } from "../../chart/scatter";
import { number_at, range } from "../../data/numbers";
import { cumulative_energy, numbers, rows_of, scaled_numbers, thinned_indices } from "../../data/report";
import type { CompositionRow } from "../../data/report_file";
import { circuit_at, spectrum_at, head_figures } from "../../shaping/head_figures";
import { attention_heads, chosen_head, head_cells, head_chart, numbers_in, type HeadIndex } from "../../shaping/head_grid";
import type { Reading } from "../../shaping/reading";

export const head_heatmaps = (reading: Reading, chosen?: HeadIndex): HeatmapChart[] =>
  head_figures(reading).map((figure) => head_chart(reading, figure, chosen));

/** The heads that share a head's KV head. Undefined without grouped-query attention. */
export function shares_keys_with({ model }: Reading, head: number): { group: number; heads: number[] } | undefined {
  if (model.kv_heads >= model.heads) return undefined;
  const group_of = (each: number) => Math.floor((each * model.kv_heads) / model.heads);
  return { group: group_of(head), heads: range(model.heads).filter((each) => each !== head && group_of(each) === group_of(head)) };
}

/** Measures on a text, in addition to those of the weights. */
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
      label: "Entropy (nats)",
      format: ".2f",
      domain: [0, Math.max(1, ...rows.map((row) => row.entropy ?? 0))] as [number, number],
      values: new Map(rows.map((row) => [key(row), row.entropy])),
    },
    shares(
      "First token",
      rows.map((row) => [key(row), row.sink_mass]),
    ),
    shares(
      "Previous token",
      rows.map((row) => [key(row), row.previous_token]),
    ),
    shares(
      "Induction",
      induction.map((row) => [key(row), row.induction]),
    ),
  ].filter((figure) => figure.values.size > 0);
}

/** Each measure of a head as a dot among the values of all heads. */
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
    title: "Compared with all heads",
    note: "Ticks: all heads. Dot: this head.",
    rows: [...from_weights, ...on_text].filter((row) => row.all.length > 0),
  };
}

/** Cumulative energy of a head's two circuits, and of products of random matrices. Undefined without singular values. */
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
  // Circuits with the same maximum rank have the same baseline.
  const nulls = [
    ...new Map(
      rows.flatMap(({ row, values }) => (row.random_singular_values ? [[values.length, row.random_singular_values] as const] : [])),
    ).values(),
  ];
  return {
    kind: "lines",
    name: "head-energy",
    title: "Cumulative energy",
    panel_height: 190,
    x: {
      title: "number of singular values",
      scale: "linear",
      domain: [0, Math.max(...rows.map(({ values }) => values.length))],
      integers: true,
    },
    y: { title: "", scale: "linear", domain: [0, 1], format: "percent" },
    series: [
      { key: "qk", label: "QK", color: { role: "qk" } },
      { key: "ov", label: "OV", color: { role: "ov" } },
      { key: "null", label: "random", color: "null" },
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

/** QK symmetry vs. OV copying score. Undefined if no head has both. */
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
          color: { layer, of: model.layers },
          label: head_name(place),
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
    note: "One point per head, from the weights. Says nothing about behavior on text.",
    x: {
      title: "QK symmetry",
      scale: "linear",
      domain: [low, high],
      format: "score",
      ticks: range(Math.round((high - low) * 4) + 1).map((index) => low + index / 4),
    },
    y: { title: "OV copying score", scale: "linear", domain: [-1, 1], format: "score", ticks: [-1, -0.5, 0, 0.5, 1] },
    zero: true,
    points,
    layers: model.layers,
  };
}

export interface CompositionChoice {
  pairs: number; // maximum number of pairs
  around?: HeadIndex; // only pairs with this head
}

const kReads: Readonly<Record<CompositionRow["kind"], string>> = { q: "queries", k: "keys", v: "values" };

/** The pairs of heads with the highest composition scores. Undefined if no pair is above random. */
export function composition_chart(reading: Reading, { pairs, around }: CompositionChoice, chosen?: HeadIndex): GraphChart | undefined {
  const { report, model } = reading;
  const touches = (row: CompositionRow, { layer, head }: HeadIndex) =>
    (row.layer === layer && row.head === head) || (row.receiver_layer === layer && row.receiver_head === head);
  const strongest = rows_of(report, "composition", model.name)
    .flatMap((row) => (row.excess !== null && row.excess > 0 && (!around || touches(row, around)) ? [{ ...row, excess: row.excess }] : []))
    .sort((a, b) => b.excess - a.excess)
    .slice(0, pairs);
  if (strongest.length === 0 && !around) return undefined;
  const most = Math.max(0.25, ...strongest.map((row) => row.excess)); // scores are 0 to 1; this much above random is strong
  return {
    kind: "graph",
    name: around ? "heads-composition-of-one" : "heads-composition",
    title: "Composition of heads",
    note:
      "Horizontal: layers; vertical: heads. A curve connects a head to a later head whose query, key or value input aligns with its " +
      "output. Wider: composition score further above random.",
    layers: model.layers,
    heads: model.heads,
    ...(chosen ? { chosen } : {}),
    series: (["q", "k", "v"] as const).map((kind) => ({
      key: kind,
      label: `into ${kReads[kind]}`,
      color: { role: kind },
      ...(kind === "q" ? {} : { dash: kind === "k" ? "6 3" : "2 3" }),
    })),
    edges: strongest.map((row) => ({
      series: row.kind,
      from: { layer: row.layer, head: row.head },
      to: { layer: row.receiver_layer, head: row.receiver_head },
      strength: row.excess / most,
      label:
        `${head_name(row)} → ${kReads[row.kind]} of ${head_name({ layer: row.receiver_layer, head: row.receiver_head })}: ` +
        `composition score ${format_number(row.score, ".2f")}, ${format_number(row.excess, ".2f")} above random`,
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
