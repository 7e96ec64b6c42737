// A small chart of every kind with edge cases: gaps, missing and skipped cells, untrusted names.
import type { Chart } from "../../src/chart/chart";
import { grouped_bars_axis, type Columns } from "../../src/chart/grouped_bars";
import { byte_of_weight } from "../../src/data/maps";

export const kHostile = `</script><img onerror=alert(1)> "quote"\n\u001b[31m \u202e & ' ]]>`;

const kSide = 24;
/** A causal attention map with weights that decrease with distance. */
export function sample_map(seed: number): Uint8Array {
  return Uint8Array.from({ length: kSide * kSide }, (_, index) => {
    const [query, key] = [Math.floor(index / kSide), index % kSide];
    return key > query ? 0 : byte_of_weight(Math.exp(-Math.abs(query - key - seed) / 2) / 3);
  });
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const labels = (count: number) => range(count).map(String);
const wave = (index: number) => Math.sin(index * 1.7);
const bell = (index: number, bins: number) => Math.exp(-(((index - bins / 2) / (bins / 8)) ** 2));

const kTokens = range(kSide).map((index) => (index === 3 ? kHostile : ` token${index}`));

/** One much higher than the others, one below 0, one missing. */
const kColumns: Columns[] = [
  { series: "attention", heights: [0.2, 0.3, -0.02, 0.1], errors: [0.02, 0.04, 0.03, null], gray: [false, false, true, false] },
  { series: "mlp", heights: [4.2, 0.25, null, 0.15], errors: [0.1, 0.02, null, 0.01] },
];

export const kEveryChart: readonly Chart[] = [
  {
    kind: "lines",
    name: "lines",
    title: ["W", { sub: "Q" }, " of ", kHostile],
    note: "One panel a layer.",
    x: { title: "index", scale: "log", domain: [1, 40] },
    y: { title: "value", scale: "log", domain: [0.01, 10] },
    rule: 1,
    series: [
      { key: "q", label: ["W", { sub: "Q" }], color: { role: "q" } },
      { key: "null", label: "null", color: "null" },
    ],
    panels: range(3).map((panel) => ({
      title: `Layer ${panel}`,
      lines: [
        {
          series: "q",
          x: range(40).map((index) => index + 1),
          y: range(40).map((index) => (index === 7 ? null : 5 / (index + 1 + panel))),
        },
        { series: "null", x: [1, 40], y: [2, 0.001] },
      ],
    })),
  },
  {
    kind: "lines",
    name: "lines-errors",
    title: "MaxRank",
    x: { title: "layer", scale: "linear", domain: [0, 5], integers: true },
    y: { title: "rank", scale: "linear", domain: [0, 100] },
    points: true,
    chosen: { series: "max", index: 2 },
    end_labels: true,
    series: [
      { key: "max", label: "max", color: "accent" },
      { key: "mean", label: kHostile, color: { model: 1 }, dash: "6 2" },
    ],
    panels: [
      {
        lines: [
          { series: "max", x: range(6), y: [89, 66, 40, 18, 35, 3], error: [2, 3, 4, null, 2, 1] },
          { series: "mean", x: range(6), y: [80, 60, 38, 17, null, 2] },
        ],
      },
    ],
  },
  {
    kind: "columns",
    name: "columns",
    title: ["Layers of ", kHostile],
    groups: { title: "layer", count: 4 },
    y: grouped_bars_axis("nats", 4, kColumns),
    series: [
      { key: "attention", label: "attention", color: { role: "qk" } },
      { key: "mlp", label: kHostile, color: { role: "up" } },
    ],
    columns: kColumns,
  },
  {
    kind: "columns",
    name: "columns-intervals",
    title: "Layers with intervals",
    groups: { title: "layer", count: 2 },
    y: { title: "share (%)", scale: "linear", domain: [-10, 60] },
    series: [{ key: "attention", label: "attention", color: { role: "qk" } }],
    columns: [{ series: "attention", heights: [50, -2], intervals: [[40, 58], null], gray: [false, true] }],
  },
  {
    kind: "heatmap",
    name: "heatmap",
    title: "OV copying score",
    note: "Eigenvalues, +1: all positive.",
    rows: { title: "layer", labels: labels(4) },
    columns: { title: "head", labels: labels(6) },
    scale: { kind: "diverging", domain: [-1, 1], format: "+.2f" },
    format: "score",
    chosen: { row: 1, column: 2 },
    cells: range(4).map((row) =>
      range(6).map((column) =>
        row === 2 && column === 1
          ? "missing"
          : row === 3 && column === 0
            ? { skipped: kHostile }
            : row === 0 && column === 5
              ? null
              : wave(row * 6 + column),
      ),
    ),
  },
  {
    kind: "heatmap",
    name: "heatmap-rank",
    title: "QK rank",
    rows: { title: "layer", labels: labels(3) },
    columns: { title: "head", labels: labels(4) },
    scale: { kind: "sequential", domain: [32, 22], format: ".0f" },
    format: ".0f",
    cells: range(3).map((row) => range(4).map((column) => 32 - row * column)),
  },
  {
    kind: "heatmap",
    name: "heatmap-words",
    title: "Token by token",
    rows: { title: "token", labels: labels(3) },
    columns: { title: "layer", labels: labels(4) },
    scale: { kind: "sequential", domain: [1024, 1], transform: "log", format: "tick" },
    format: "tick",
    cells: range(3).map((row) => range(4).map((column) => 1 + row * column)),
    words: range(3).map((row) => range(4).map((column) => (row + column === 4 ? kHostile : "the"))),
  },
  {
    kind: "laminar",
    name: "laminar",
    title: "Weights",
    x: { title: "weight", scale: "linear", domain: [-0.3, 0.3] },
    row_title: "layer",
    edges: range(81).map((index) => -0.8 + index * 0.02),
    scale: { kind: "sequential", domain: [0, 1], transform: "sqrt", format: ".0f" },
    rows: range(6).map((row) => ({
      label: String(row),
      density: row === 4 ? null : range(80).map((bin) => bell(bin, 80 + row)),
      mean: 0,
      std: 0.07 + row * 0.01,
      ...(row === 4 ? { why: kHostile } : {}),
    })),
    null_std: 0.05,
  },
  {
    kind: "bars",
    name: "bars",
    title: "One layer",
    x: { title: "weight", scale: "linear", domain: [-1, 1] },
    y: { title: "weights", scale: "linear", domain: [0, 1] },
    series: [{ key: "q", label: "q", color: { role: "q" } }],
    bars: [{ series: "q", edges: range(41).map((index) => -1 + index / 20), heights: range(40).map((bin) => bell(bin, 40)) }],
  },
  {
    kind: "bars",
    name: "bars-null",
    title: "Beside a Gaussian",
    x: { title: "weight", scale: "linear", domain: [-1, 1] },
    y: { title: "density", scale: "log", domain: [0.01, 2] },
    series: [
      { key: "q", label: "q", color: { role: "q" } },
      { key: "null", label: "Gaussian", color: "null" },
    ],
    bars: ["q", "null"].map((series) => ({
      series,
      edges: range(41).map((index) => -1 + index / 20),
      heights: range(40).map((bin) => bell(bin, 40)),
    })),
  },
  {
    kind: "bars",
    name: "bars-two",
    title: "Within and across",
    x: { title: "cosine", scale: "linear", domain: [-1, 1] },
    y: { title: "pairs", scale: "linear", domain: [0, 1] },
    series: [
      { key: "in", label: "within", color: { role: "q" } },
      { key: "out", label: kHostile, color: { role: "v" }, dash: "4 2" },
    ],
    bars: ["in", "out"].map((series, offset) => ({
      series,
      edges: range(41).map((index) => -1 + index / 20),
      heights: range(40).map((bin) => bell(bin + offset * 4, 40)),
    })),
  },
  {
    kind: "dots",
    name: "dots",
    title: "Layer 2 · head 9",
    rows: [
      {
        label: "QK rank",
        axis: { title: "", scale: "linear", domain: [0, 32], format: ".0f" },
        all: range(30).map((index) => 20 + 5 * wave(index)),
        value: 22,
      },
      {
        label: "OV copying score",
        axis: { title: "", scale: "linear", domain: [-1, 1], format: "score" },
        all: range(30).map((index) => (index === 3 ? null : wave(index))),
        value: -0.59,
      },
      { label: kHostile, axis: { title: "", scale: "linear", domain: [-1, 1], format: "score" }, all: [], value: null },
    ],
  },
  {
    kind: "scatter",
    name: "scatter",
    title: "Symmetry and copying score",
    x: { title: "symmetry of QK", scale: "linear", domain: [-1, 1] },
    y: { title: "copying score of OV", scale: "linear", domain: [-1, 1] },
    zero: true,
    points: range(30).map((index) => ({
      x: wave(index),
      y: wave(index * 3 + 1),
      color: { layer: index % 6, of: 6 },
      label: index === 0 ? kHostile : `head ${index}`,
      chosen: index === 4,
    })),
  },
  {
    kind: "map",
    name: "map",
    title: "Layer 3 · head 2",
    bytes: sample_map(1),
    shape: { queries: kSide, keys: kSide },
    color: "log",
    query: 7,
    labels: { queries: kTokens, keys: kTokens },
    entropy: range(kSide).map((index) => Math.log(index + 1)),
  },
  {
    kind: "map",
    name: "map-across",
    title: "Layer 0 · head 1",
    bytes: sample_map(2).slice(0, 6 * kSide),
    shape: { queries: 6, keys: kSide },
    color: "sqrt",
    labels: { queries: kTokens.slice(0, 6), keys: kTokens },
    entropy: range(6).map((index) => Math.log(index + 1)),
  },
  {
    kind: "picture",
    name: "picture",
    title: "What the class token looks at",
    pixels: Uint8Array.from({ length: 24 * 36 * 3 }, (_, index) => (index * 37) % 256),
    rows: 24,
    columns: 36,
    patches: { rows: 2, columns: 3 },
    names: ["class token", kHostile],
    weights: range(8).map((index) => 2 ** -index),
    query: 0,
    color: "log",
  },
  {
    kind: "track",
    name: "track",
    title: "What the frame at 0.30 s looks at",
    levels: Uint8Array.from({ length: 60 }, (_, frame) => (frame * 29) % 256),
    seconds: 1.2,
    weights: range(60).map((frame) => (frame % 7 === 0 ? 0.1 : 0)),
    query: 15,
    color: "log",
  },
  {
    kind: "wall",
    name: "wall",
    title: "Every head on one text",
    layers: 3,
    heads: 4,
    color: "sqrt",
    chosen: { layer: 1, head: 2 },
    maps: range(11).map((index) => ({
      layer: Math.floor(index / 4),
      head: index % 4,
      shape: { queries: kSide, keys: kSide },
      bytes: sample_map(index),
    })),
  },
  {
    kind: "image",
    name: "image",
    title: "Raw weights",
    rows: 16,
    columns: 24,
    shape: [192, 288],
    values: range(16 * 24).map(wave),
    scale: { kind: "diverging", domain: [-1, 1], format: "~r" },
    heads: { along: "rows", count: 6 },
  },
  {
    kind: "graph",
    name: "graph",
    title: "Composition",
    layers: 4,
    heads: 6,
    series: [
      { key: "q", label: "Q", color: { role: "q" } },
      { key: "k", label: "K", color: { role: "k" }, dash: "4 2" },
    ],
    edges: range(8).map((index) => ({
      series: index % 2 ? "q" : "k",
      from: { layer: index % 3, head: index % 6 },
      to: { layer: (index % 3) + 1, head: (index * 5) % 6 },
      strength: 1 - index / 8,
      label: index === 0 ? kHostile : `pair ${index}`,
    })),
  },
  {
    kind: "atlas",
    name: "atlas",
    title: "Rank atlas",
    matrices: ["q", "k", "v", "o", "qk", "ov", "kv", "up", "down"],
    layers: range(4),
    cells: range(4).map((row) =>
      range(9).map((column) =>
        row === 1 && column === 1
          ? "missing"
          : row === 2 && column === 3
            ? { skipped: kHostile }
            : {
                rank: 100 + 10 * row + column,
                null_rank: 150,
                possible: 192,
                energy: range(192).map((index) => 1 - (1 - (index + 1) / 192) ** (2 + column)),
              },
      ),
    ),
  },
];
