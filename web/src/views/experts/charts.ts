// Charts of expert similarity and routing.
import { counted_axis } from "../../chart/axis";
import type { Series } from "../../chart/chart_fields";
import type { Cell, HeatmapChart } from "../../chart/heatmap";
import type { LinesChart, Panel } from "../../chart/lines";
import { matrix_words } from "../../chart/rich_text";
import { number_rows } from "../../data/matrix";
import { range } from "../../data/numbers";
import { numbers, rows_of, skipped_reason } from "../../data/report";
import type { ExpertsRow, Matrix, RoutingRow, SpectrumRow } from "../../data/report_file";
import { numbers_in } from "../../shaping/head_grid";
import type { Reading } from "../../shaping/reading";

/** Largest number of experts for which all pairs are shown. */
export const kMostPairs = 160;

const kOfExperts: readonly Matrix[] = ["gate", "up", "down"];

export const routing_rows = ({ report, model }: Reading): RoutingRow[] =>
  rows_of(report, "routing", model.name).sort((a, b) => a.layer - b.layer);

const space_rows = ({ report, model }: Reading, matrix: Matrix): ExpertsRow[] =>
  rows_of(report, "experts", model.name)
    .filter((row) => row.matrix === matrix)
    .sort((a, b) => a.layer - b.layer);

/** Rows of single experts, without rows that summarize a layer. */
export const expert_rows = ({ report, model }: Reading, matrix: Matrix): SpectrumRow[] =>
  rows_of(report, "expert_spectra", model.name).filter((row) => row.matrix === matrix && row.expert !== undefined);

export const expert_matrices = (reading: Reading): Matrix[] => kOfExperts.filter((matrix) => expert_rows(reading, matrix).length > 0);

/** Load of each expert relative to balanced load. */
export function load_chart(reading: Reading): HeatmapChart | undefined {
  const rows = routing_rows(reading);
  const [first] = rows;
  if (!first) return undefined;
  const cells = rows.map((row) => [...numbers(reading.report, row.load)].map((load): Cell => load * row.experts));
  return {
    kind: "heatmap",
    name: "expert-load",
    title: "Load of each expert",
    note:
      `Fraction of all routing assignments, relative to balanced load. Text of ${first.tokens} tokens, ${first.experts_per_token} of ` +
      `${first.experts} experts per token. 0: unused.`,
    rows: { title: "layer", labels: rows.map((row) => String(row.layer)) },
    columns: { title: "expert", labels: range(first.experts).map(String) },
    cells,
    scale: { kind: "sequential", domain: [0, Math.max(2, ...numbers_in(cells))], transform: "sqrt", format: ".2~r" },
    format: ".2f",
  };
}

/** Energy rank of each expert in the report, relative to the maximum possible rank. */
export function rank_chart(reading: Reading, matrix: Matrix): HeatmapChart | undefined {
  const rows = expert_rows(reading, matrix);
  if (rows.length === 0) return undefined;
  const layers = [...new Set(rows.map((row) => row.layer))].sort((a, b) => a - b);
  const experts = [...new Set(rows.flatMap((row) => row.expert ?? []))].sort((a, b) => a - b);
  const at = new Map(rows.map((row) => [`${row.layer}/${row.expert}`, row]));
  const share = (row: SpectrumRow, ranks: Readonly<Record<string, number | null>>) => {
    const rank = ranks["0.9"];
    return rank === undefined || rank === null ? null : rank / row.max_possible_rank;
  };
  const nulls = rows.map((row) => share(row, row.random_energy_rank)).filter((value): value is number => value !== null);
  const cells = layers.map((layer) =>
    experts.map((expert): Cell => {
      const row = at.get(`${layer}/${expert}`);
      if (row) return share(row, row.energy_rank);
      const skipped = skipped_reason(reading.report, "expert_spectra", { model: reading.model.name, layer, matrix });
      return skipped === undefined ? "missing" : { skipped };
    }),
  );
  const random = nulls.length > 0 ? ` Random: ${Math.round(Math.max(...nulls) * 100)}%.` : "";
  return {
    kind: "heatmap",
    name: `expert-rank-${matrix}`,
    title: ["Energy rank of ", ...[matrix_words(matrix)].flat()],
    note: `Number of singular values for 90% of the energy, relative to the maximum possible rank.${random}`,
    rows: { title: "layer", labels: layers.map(String) },
    columns: { title: "expert", labels: experts.map(String) },
    cells,
    scale: { kind: "sequential", domain: [0, 1], format: "percent" },
    format: "percent",
  };
}

/** Energy rank of all experts stacked, of one expert, and of equally many random experts. */
export function space_chart(reading: Reading): LinesChart | undefined {
  const { model } = reading;
  const series: Series[] = [
    { key: "stacked", label: "all, stacked", color: "accent" },
    { key: "single", label: "one expert, median", color: "ink", dash: "7 2" },
    { key: "null", label: "random, stacked", color: "null", dash: "4 3" },
  ];
  const panels: Panel[] = kOfExperts.flatMap((matrix) => {
    const rows = space_rows(reading, matrix);
    if (rows.length === 0) return [];
    const line = (key: string, read: (row: ExpertsRow) => number | undefined) => ({
      series: key,
      x: rows.map((row) => row.layer),
      y: rows.map((row) => read(row) ?? null),
    });
    return [
      {
        title: matrix_words(matrix),
        lines: [
          line("stacked", (row) => row.energy_rank["0.9"]),
          line("single", (row) => row.single_energy_rank?.["0.9"]),
          line("null", (row) => row.random_energy_rank["0.9"]),
        ],
      },
    ];
  });
  if (panels.length === 0) return undefined;
  return {
    kind: "lines",
    name: "expert-space",
    title: "Shared subspace of experts",
    note:
      "Energy rank (90%) of the experts' stacked weights. Near a single expert: all use the same subspace. Near the random line: each " +
      "uses its own.",
    x: counted_axis("layer", model.layers),
    y: { title: "energy rank", scale: "linear", domain: [0, model.hidden_size] },
    series,
    points: model.layers <= 16,
    panels,
  };
}

/** Similarity of the experts in a layer, independent of neuron order; for the router, similarity of its rows. */
export function similarity_chart(reading: Reading): LinesChart | undefined {
  const series: Series[] = [
    { key: "most", label: "most similar pair", color: "accent" },
    { key: "mean", label: "mean over pairs", color: "ink", dash: "7 2" },
    { key: "least", label: "least similar pair", color: "soft" },
    { key: "null", label: "random", color: "null", dash: "4 3" },
  ];
  const panels: Panel[] = (["gate", "up", "down", "router"] as const).flatMap((matrix) => {
    const rows = space_rows(reading, matrix).filter((row) => row.mean_similarity !== null);
    if (rows.length === 0) return [];
    const line = (key: string, read: (row: ExpertsRow) => number | null) => ({
      series: key,
      x: rows.map((row) => row.layer),
      y: rows.map(read),
    });
    return [
      {
        title: matrix_words(matrix),
        lines: [
          line("most", (row) => row.most_similarity),
          line("mean", (row) => row.mean_similarity),
          line("least", (row) => row.least_similarity),
          line("null", (row) => row.random_similarity),
        ],
      },
    ];
  });
  if (panels.length === 0) return undefined;
  const all = panels
    .flatMap((panel) => panel.lines.flatMap((line) => Array.from(line.y)))
    .filter((value): value is number => value !== null);
  return {
    kind: "lines",
    name: "expert-similarity",
    title: "Similarity of experts",
    note: "Experts: cosine of second moments, independent of neuron order. Router: cosine between rows. 1: identical.",
    x: counted_axis("layer", reading.model.layers),
    y: { title: "similarity", scale: "linear", domain: [Math.min(0, ...all) < 0 ? -1 : 0, 1] },
    series,
    points: reading.model.layers <= 16,
    panels,
  };
}

/** Effective number of experts by layer. */
export function balance_chart(reading: Reading): LinesChart | undefined {
  const rows = routing_rows(reading);
  const [first] = rows;
  if (!first) return undefined;
  return {
    kind: "lines",
    name: "expert-balance",
    title: "Effective number of experts",
    note: "exp of the entropy of the load: the number of experts with equal load that has the same entropy. Dashed: all experts.",
    x: counted_axis("layer", reading.model.layers),
    y: { title: "experts", scale: "linear", domain: [0, 1.05 * first.experts] },
    rule: first.experts,
    series: [{ key: "effective", label: "experts", color: "accent" }],
    points: reading.model.layers <= 16,
    panels: [
      {
        title: "",
        lines: [{ series: "effective", x: rows.map((row) => row.layer), y: rows.map((row) => row.effective_experts) }],
      },
    ],
  };
}

/** Coactivation of two experts relative to independent routing. */
export function together_chart(reading: Reading, layer: number): HeatmapChart | undefined {
  const row = routing_rows(reading).find((each) => each.layer === layer);
  if (!row || row.experts_per_token < 2 || row.experts > kMostPairs) return undefined;
  const shares = number_rows(reading.report, row.coactivation);
  const share = (a: number, b: number) => shares[a]?.[b] ?? 0;
  const cells = range(row.experts).map((a) =>
    range(row.experts).map((b): Cell => {
      const apart = share(a, a) * share(b, b);
      return a === b || apart === 0 ? null : share(a, b) / apart;
    }),
  );
  return {
    kind: "heatmap",
    name: `experts-together-${layer}`,
    title: `Coactivation of experts, layer ${layer}`,
    note: "Fraction of tokens routed to both experts, relative to independent routing. Rows and columns: experts. 1: independent.",
    rows: { title: "expert", labels: range(row.experts).map(String) },
    columns: { title: "expert", labels: range(row.experts).map(String) },
    cells,
    scale: { kind: "sequential", domain: [0, Math.max(2, ...numbers_in(cells))], transform: "sqrt", format: ".2~r" },
    format: ".1f",
    square: true,
  };
}
