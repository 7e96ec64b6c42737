import { describe, expect, test } from "vitest";
import { atlas_chart, head_charts, models_chart, random_baseline_chart, map_grid_chart } from "../../src/views/overview/charts";
import { fact_list } from "../../src/views/overview/view";
import { circuit, kModel, reading, spectrum } from "./findings/made_readings";

const share = (...values: number[]) => ({ at: 0, length: values.length });

describe("rank atlas", () => {
  test("distinguishes ranks, missing and skipped cells", () => {
    const made = reading({
      model: { layers: 2 },
      rows: { spectrum: [spectrum(0, "q", 24), spectrum(0, "qk", 9, 30), spectrum(1, "qk", 8, 30)] },
    });
    made.report.file.reports[0]!.skipped.push({ model: "made", layer: 1, matrix: "q", head: null, reason: "contains NaN" });
    expect(atlas_chart(made).matrices).toEqual(["q", "qk"]);
    expect(atlas_chart(made).cells).toEqual([
      [
        { rank: 24, null_rank: 40, possible: 64 },
        { rank: 9, null_rank: 30, possible: 64 },
      ],
      [{ skipped: "contains NaN" }, { rank: 8, null_rank: 30, possible: 64 }],
    ]);
    expect(atlas_chart({ ...made, threshold: 0.99 }).cells[0]).toEqual(["missing", "missing"]);
  });

  test("shows cumulative energy if there are singular values", () => {
    const made = reading({
      model: { layers: 1 },
      rows: { spectrum: [spectrum(0, "q", 1, 2, { singular_values: share(2, 1) })] },
      values: [2, 1],
    });
    const cell = atlas_chart(made).cells[0]![0]!;
    expect(typeof cell === "object" && "energy" in cell && [...Array.from(cell.energy!)]).toEqual([0.8, 1]);
  });
});

describe("head heatmaps", () => {
  const ranks = (...values: number[]) => values.map((rank, head) => circuit(0, "qk", head, { energy_rank: { "0.9": rank } }));

  test("ranks of 30, 31 and 32 do not span the colors", () => {
    const [qk] = head_charts(reading({ model: { layers: 1, heads: 3 }, rows: { circuits: ranks(30, 31, 32) } }));
    expect(qk!.scale.domain).toEqual([32, 22]);
    expect(qk!.cells).toEqual([[30, 31, 32]]);
  });

  test("the colors reach the lowest rank", () => {
    expect(head_charts(reading({ model: { layers: 1, heads: 3 }, rows: { circuits: ranks(5, 11, 12) } }))[0]!.scale.domain).toEqual([
      12, 5,
    ]);
  });

  test("scores span -1 to 1, and a missing score is not 0", () => {
    const charts = head_charts(
      reading({ model: { layers: 1, heads: 2 }, rows: { circuits: [circuit(0, "ov", 0, { copying_score: null })] } }),
    );
    const copying = charts.find((each) => each.name === "overview-heads-copying")!;
    expect(copying.scale.domain).toEqual([-1, 1]);
    expect(copying.cells).toEqual([[null, "missing"]]);
  });

  test("no charts without rows", () => expect(head_charts(reading({}))).toEqual([]));
});

describe("spectra relative to random", () => {
  const row = (layer: number, matrix: string) =>
    spectrum(layer, matrix, 1, 2, { singular_values: { at: 0, length: 3 }, random_singular_values: { at: 3, length: 3, scale: 1 } });

  test("one panel per projection, without values near 0 in the baseline", () => {
    const chart = random_baseline_chart(
      reading({ model: { layers: 2 }, rows: { spectrum: [row(0, "q"), row(1, "q"), row(0, "qk")] }, values: [4, 1, 0.5, 2, 1, 0.01] }),
    )!;
    expect(chart.panels).toHaveLength(1);
    expect(chart.panels[0]!.lines.map((line) => [Array.from(line.x), Array.from(line.y)])).toEqual([
      [
        [1, 2],
        [2, 1],
      ],
      [
        [1, 2],
        [2, 1],
      ],
    ]);
    expect(chart.y.domain[1]).toBeGreaterThanOrEqual(2);
  });

  test("a deep model shows every nth layer and the last", () => {
    const made = reading({
      model: { layers: 48 },
      rows: { spectrum: Array.from({ length: 48 }, (_, layer) => row(layer, "q")) },
      values: [4, 1, 0.5, 2, 1, 0.5],
    });
    const layers = random_baseline_chart(made)!.series.map((each) => Number(each.key));
    expect(layers.length).toBeLessThanOrEqual(17);
    expect(layers[layers.length - 1]).toBe(47);
  });

  test("needs singular values", () =>
    expect(random_baseline_chart(reading({ rows: { spectrum: [spectrum(0, "q", 3)] } }))).toBeUndefined());
});

describe("comparison of models", () => {
  test("energy rank relative to random by relative depth", () => {
    const made = reading({
      model: { layers: 3 },
      rows: {
        spectrum: [
          ...[10, 20, 30].map((rank, layer) => spectrum(layer, "qk", rank)),
          ...[20, 40].map((rank, layer) => ({ ...spectrum(layer, "qk", rank), model: "other" })),
        ],
      },
    });
    expect(models_chart(made)).toBeUndefined();
    made.report.file.models.push({ ...kModel, name: "other", layers: 2 });
    const chart = models_chart(made)!;
    expect(chart.panels[0]!.lines.map((line) => [line.series, Array.from(line.x), Array.from(line.y)])).toEqual([
      ["0", [0, 0.5, 1], [0.25, 0.5, 0.75]],
      ["1", [0, 1], [0.5, 1]],
    ]);
    expect(new Set(chart.series.map((each) => each.dash)).size).toBe(2);
  });
});

test("the grid of maps shows only maps of its model", () => {
  const made = reading({ model: { layers: 1, heads: 2 } });
  const place = { layer: 0, head: 1, tokens: 2, causal: true, side: 2, at: 0 };
  made.report.file.maps.push({ model: "made", ...place }, { model: "other", ...place });
  made.report.maps = Uint8Array.from([255, 100, 200]);
  expect(map_grid_chart(made).maps).toEqual([
    { layer: 0, head: 1, shape: { queries: 2, keys: 2 }, bytes: Uint8Array.from([255, 0, 100, 200]) },
  ]);
});

test("model info with grouped-query attention, and of an encoder", () => {
  const words = (model: object) => fact_list({ ...kModel, ...model }).map((each) => each.join(" ").trim());
  expect(words({ kv_heads: 1, kv_cache_bytes_per_token: 640 })).toEqual([
    "gpt2",
    "1 parameters",
    "6 layers",
    "4 heads × 16",
    "1 KV head",
    "64 hidden size",
    "F32",
    "4\u202fB",
    "640\u202fB KV cache per token",
  ]);
  expect(words({ causal: false })).toContain("bidirectional, no KV cache");
});
