// A report that is small enough to verify by hand: one model with three layers and two heads, one layer skipped and one missing.
import type { Report } from "../../src/data/report";
import type { Model, ReportFile } from "../../src/data/report_file";
import type { Reading } from "../../src/shaping/reading";

export const kModel = { name: "small", layers: 3, heads: 2, kv_heads: 1, hidden_size: 4, head_dim: 2 } as Model;

const kValues = [3, 2, 1, 0.5, 0.5, 0.5, /* edges */ -2, -1, 0, 1, 2, /* overlap */ 1, 0.75, 0.75, 1, /* null where a head is zero */ NaN];
const kEdges = { at: 6, length: 5 };

const spectrum = (layer: number, matrix: string, head: number | null) => ({
  model: "small",
  layer,
  matrix,
  head,
  shape: [3, 3],
  max_possible_rank: 3,
  energy_rank: { "0.9": 2, "0.99": 3 },
  random_energy_rank: { "0.9": 3, "0.99": 3 },
  singular_values: { at: 0, length: 3 },
  random_singular_values: { at: 3, length: 3, scale: 2 },
});

const weights = (layer: number, matrix: string, head: number | null, counts: number[], std: number) => ({
  model: "small",
  layer,
  matrix,
  head,
  count: 16,
  mean: 0.25,
  std,
  min: -1.5,
  max: 1.75,
  skewness: 0.1,
  excess_kurtosis: 12,
  quantiles: { "0.5": 0.125, "0.01": -1.25 },
  histogram: { edges: kEdges, counts, outside: 4 },
});

const similarity = (layer: number, scope: string, mean: number | null) => ({
  model: "small",
  layer,
  matrix: "k",
  scope,
  pairs: mean === null ? 0 : 4,
  zero_vectors: 0,
  mean,
  std: mean === null ? null : 0.5,
  histogram: { edges: kEdges, counts: mean === null ? [0, 0, 0, 0] : [0, 1, 3, 0], outside: 0 },
});

export function small_report(): Report {
  const skipped = [
    { model: "small", layer: 1, matrix: "q", reason: "contains NaN" },
    { model: "small", layer: 1, matrix: "k", reason: "contains NaN" },
  ];
  const analysis = (id: string, rows: object[]) => ({ id, model: kModel.name, again: "", command: id, parameters: {}, rows, skipped });
  const file = {
    thresholds: [0.9, 0.99],
    models: [kModel],
    skipped: [],
    texts: [],
    pictures: [],
    sounds: [],
    maps: [],
    reports: [
      analysis("spectrum", [
        spectrum(0, "q", null),
        spectrum(0, "k", null),
        spectrum(0, "q", 1),
        spectrum(0, "k", 0),
        spectrum(0, "qk", null),
      ]),
      analysis("weights", [
        weights(0, "q", null, [0, 4, 8, 0], 0.5),
        weights(0, "q", 1, [2, 2, 2, 2], 1),
        weights(0, "k", null, [0, 1, 1, 0], 0.25),
      ]),
      analysis("similarity", [similarity(0, "within_head", 0.125), similarity(0, "across_head", null)]),
      analysis("overlap", [
        { model: "small", layer: 0, matrix: "q", overlap: { at: 11, length: 4, shape: [2, 2] }, ranks: [2, 2] },
        {
          model: "small",
          layer: 2,
          matrix: "q",
          overlap: [
            [1, null],
            [null, 1],
          ],
          ranks: [2, 0],
        },
      ]),
    ],
    matrices: [{ model: "small", layer: 0, matrix: "q", shape: [4, 4], rows: 2, cols: 2, at: 0, limit: 0.5 }],
  } as unknown as ReportFile;
  return { file, values: Float32Array.from(kValues), maps: Uint8Array.from([1, 128, 255, 128]), live: false };
}

export const reading = (params: Record<string, string> = {}): Reading => ({
  report: small_report(),
  state: { view: "", params },
  model: kModel,
  threshold: 0.99,
});
