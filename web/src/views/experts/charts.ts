// What experts have in common, and where routers send a text, shaped into charts.
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

/** More experts than this are too many to show each pair of them. */
export const kMostPairs = 160;

const kOfExperts: readonly Matrix[] = ["gate", "up", "down"];

export const routing_rows = ({ report, model }: Reading): RoutingRow[] =>
  rows_of(report, "routing", model.name).sort((a, b) => a.layer - b.layer);

const space_rows = ({ report, model }: Reading, matrix: Matrix): ExpertsRow[] =>
  rows_of(report, "experts", model.name)
    .filter((row) => row.matrix === matrix)
    .sort((a, b) => a.layer - b.layer);

/** Of single experts: rows that sum up a layer are left out. */
export const expert_rows = ({ report, model }: Reading, matrix: Matrix): SpectrumRow[] =>
  rows_of(report, "expert_spectra", model.name).filter((row) => row.matrix === matrix && row.expert !== undefined);

export const expert_matrices = (reading: Reading): Matrix[] => kOfExperts.filter((matrix) => expert_rows(reading, matrix).length > 0);

/** How often each expert was chosen, over what it would be were all chosen as often. */
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
      `How often it was chosen, over its even share, on ${first.tokens} tokens, each of which passes ${first.chosen} of ` +
      `${first.experts}. 0: never.`,
    rows: { title: "layer", labels: rows.map((row) => String(row.layer)) },
    columns: { title: "expert", labels: range(first.experts).map(String) },
    cells,
    scale: { kind: "sequential", domain: [0, Math.max(2, ...numbers_in(cells))], transform: "sqrt", format: ".2~r" },
    format: ".2f",
  };
}

/** The energy rank of each expert that the report has, as a share of what is possible. */
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
  const random = nulls.length > 0 ? ` Random numbers have ${Math.round(Math.max(...nulls) * 100)}\u202f%.` : "";
  return {
    kind: "heatmap",
    name: `expert-rank-${matrix}`,
    title: ["Rank of ", ...[matrix_words(matrix)].flat()],
    note: `Singular values with 0.9 of the energy, as a share of all.${random}`,
    rows: { title: "layer", labels: layers.map(String) },
    columns: { title: "expert", labels: experts.map(String) },
    cells,
    scale: { kind: "sequential", domain: [0, 1], format: "percent" },
    format: "percent",
  };
}

/** The rank of all experts stacked, of one alone, and of as many independent ones. */
export function space_chart(reading: Reading): LinesChart | undefined {
  const { model } = reading;
  const series: Series[] = [
    { key: "stacked", label: "all, stacked", colour: "accent" },
    { key: "single", label: "one expert, median", colour: "ink", dash: "7 2" },
    { key: "null", label: "random, stacked", colour: "null", dash: "4 3" },
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
    title: "The space that experts share",
    note:
      "Singular values with 0.9 of the energy. Near one expert's: all read, or write, in one space. Near the dashed line: each " +
      "its own.",
    x: counted_axis("layer", model.layers),
    y: { title: "directions", scale: "linear", domain: [0, model.width] },
    series,
    points: model.layers <= 16,
    panels,
  };
}

/** How alike the experts of a layer are, whatever the order of their neurons; of the router, its rows. */
export function similarity_chart(reading: Reading): LinesChart | undefined {
  const series: Series[] = [
    { key: "most", label: "most alike pair", colour: "accent" },
    { key: "mean", label: "mean over pairs", colour: "ink", dash: "7 2" },
    { key: "least", label: "least alike pair", colour: "soft" },
    { key: "null", label: "random", colour: "null", dash: "4 3" },
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
    title: "How alike experts are",
    note: "Of experts the cosine of what they do to the stream's second moments, of a router the cosine of its rows. 1: the same.",
    x: counted_axis("layer", reading.model.layers),
    y: { title: "similarity", scale: "linear", domain: [Math.min(0, ...all) < 0 ? -1 : 0, 1] },
    series,
    points: reading.model.layers <= 16,
    panels,
  };
}

/** How many experts carry the load, against how many there are. */
export function balance_chart(reading: Reading): LinesChart | undefined {
  const rows = routing_rows(reading);
  const [first] = rows;
  if (!first) return undefined;
  return {
    kind: "lines",
    name: "expert-balance",
    title: "Experts that carry the load",
    note: "e to the entropy of the load: as many experts as would carry it evenly. Dashed: all of them.",
    x: counted_axis("layer", reading.model.layers),
    y: { title: "experts", scale: "linear", domain: [0, 1.05 * first.experts] },
    rule: first.experts,
    series: [{ key: "effective", label: "experts", colour: "accent" }],
    points: reading.model.layers <= 16,
    panels: [
      {
        title: "",
        lines: [{ series: "effective", x: rows.map((row) => row.layer), y: rows.map((row) => row.effective_experts) }],
      },
    ],
  };
}

/** How many times as often a token passes both experts as if it chose them independently. */
export function together_chart(reading: Reading, layer: number): HeatmapChart | undefined {
  const row = routing_rows(reading).find((each) => each.layer === layer);
  if (!row || row.chosen < 2 || row.experts > kMostPairs) return undefined;
  const shares = number_rows(reading.report, row.together);
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
    title: `Layer ${layer}: chosen together`,
    note: "Tokens that pass both, over as many as if each were chosen for itself. 1: independent.",
    rows: { title: "expert", labels: range(row.experts).map(String) },
    columns: { title: "expert", labels: range(row.experts).map(String) },
    cells,
    scale: { kind: "sequential", domain: [0, Math.max(2, ...numbers_in(cells))], transform: "sqrt", format: ".2~r" },
    format: ".1f",
    square: true,
  };
}
