import { describe, expect, test } from "vitest";
import { image_of, image_values } from "../../src/data/matrix";
import { row_at } from "../../src/data/report";
import { common_range, densities, layer_density_rows, outside_words, wider_bins } from "../../src/shaping/distributions";
import { distribution_charts, heads_chart, moment_chart, weights_choice } from "../../src/views/weights/charts";
import { bins_as_one, figures, histogram_chart, image_chart, quantiles } from "../../src/views/weights/matrix_detail";
import { kModel, reading } from "./small_report";

const histogram = () => row_at(reading().report, "weights", { model: "small", layer: 0, matrix: "q" })!.histogram!;

describe("histograms", () => {
  test("density is the fraction of inside values per unit of the value", () => {
    expect(densities([-2, -1, 0, 1, 2], [0, 4, 8, 0])).toEqual([0, 4 / 12, 8 / 12, 0]);
    expect(densities([0, 0.5, 1], [1, 3])).toEqual([0.5, 1.5]);
    expect(densities([0, 1], [0])).toEqual([0]);
  });

  test("bins are merged to the Freedman–Diaconis width", () => {
    expect(wider_bins([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5], 2)).toEqual({ edges: [0, 2, 4, 5], counts: [3, 7, 5] });
    const row = row_at(reading().report, "weights", { model: "small", layer: 0, matrix: "q" })!;
    expect(bins_as_one(row, 0.1)).toBe(1);
    expect(bins_as_one({ ...row, count: 1000, quantiles: { "0.25": -1, "0.75": 1 } }, 0.1)).toBe(4);
  });

  test("few values give wider bins, chosen for the row with the fewest values", () => {
    const edges = Array.from({ length: 41 }, (_, index) => index - 20);
    const bins = (count: number) =>
      layer_density_rows(
        reading().report,
        2,
        (layer) => ({
          mean: 0,
          std: 1,
          histogram: { edges, counts: edges.slice(1).map(() => (layer === 0 ? 100 : count)), outside: 0 } as never,
        }),
        () => undefined,
      );
    expect(bins(8).rows.map((row) => row.density?.length)).toEqual([40, 40]);
    expect(bins(4).rows.map((row) => row.density?.length)).toEqual([20, 20]);
    expect(bins(4).rows[0]!.density![0]).toBeCloseTo(1 / 40);
    expect(bins(4).edges).toHaveLength(21);
    expect(bins(0.1).edges).toHaveLength(11);
  });

  test("the range is common and symmetric, without bins of less than 0.2%", () => {
    const { report } = reading();
    expect(common_range(report, [histogram()])).toEqual([-1, 1]);
    expect(common_range(report, [histogram(), { ...histogram(), counts: [1, 0, 0, 0] }])).toEqual([-2, 2]);
    expect(common_range(report, [{ ...histogram(), counts: [1, 500, 500, 0] }])).toEqual([-1, 1]);
    expect(common_range(report, [])).toEqual([-1, 1]);
  });

  test("values outside the range are mentioned if they are more than a tail", () => {
    expect(outside_words(reading().report, [histogram()], "weights")).toBe("Up to 25% of a layer's weights are outside ±2.");
    expect(outside_words(reading().report, [{ ...histogram(), outside: 0 }], "weights")).toBeUndefined();
  });
});

describe("distributions", () => {
  test("one row per layer with its moments; skipped and missing layers differ", () => {
    const [chart] = distribution_charts(reading(), [kModel], "q");
    expect(chart!.rows.map((row) => [row.label, row.density && Array.from(row.density), row.why])).toEqual([
      ["0", [0, 4 / 12, 8 / 12, 0], undefined],
      ["1", null, "skipped"],
      ["2", null, undefined],
    ]);
    expect(chart!.rows[0]).toMatchObject({ mean: 0.25, std: 0.5 });
    expect(chart!.scale.domain).toEqual([0, 8 / 12]);
  });

  test("several models share range and scale and have separate names", () => {
    const charts = distribution_charts(reading(), [kModel, kModel], "q");
    expect(charts[0]!.x.domain).toEqual(charts[1]!.x.domain);
    expect(new Set(charts.map((chart) => chart.name)).size).toBe(2);
    expect(distribution_charts(reading(), [kModel], "up")).toEqual([]);
  });

  test("moments come from rows, with fixed axis anchors", () => {
    const chart = moment_chart(reading(), [kModel], "excess_kurtosis");
    const line = chart.panels[0]!.lines.find((each) => each.series === "q")!;
    expect([Array.from(line.x), Array.from(line.y)]).toEqual([[0], [12]]);
    expect(chart.y).toMatchObject({ scale: "symlog", domain: [-2, 1.1 * 12] });
    expect(moment_chart(reading(), [kModel], "std").y.domain[0]).toBe(0);
    expect(moment_chart(reading(), [kModel], "mean").y.domain).toEqual([-0.275, 0.275]);
  });
});

describe("one layer or head", () => {
  test("the heatmap shows the whole matrix, then its heads", () => {
    const chart = heads_chart(reading({ head: "1" }), weights_choice(reading({ head: "1" })), "std");
    expect(chart.columns.labels).toEqual(["all", "0", "1"]);
    expect(chart.cells[0]).toEqual([0.5, "missing", 1]);
    expect(chart.cells[1]![0]).toEqual({ skipped: "contains NaN" });
    expect(chart.chosen).toEqual({ row: 0, column: 2 });
  });

  test("the default layer is the first one with rows", () => {
    expect(weights_choice(reading()).layer).toBe(0);
    const later = reading();
    for (const { rows } of later.report.file.reports) for (const row of rows as { layer: number }[]) row.layer = 2;
    expect(weights_choice(later).layer).toBe(2);
  });

  test("a head without a row selects the whole matrix", () => {
    expect(weights_choice(reading({ head: "7" })).head).toBeNull();
    expect(weights_choice(reading({ matrix: "k" })).matrix).toBe("k");
    expect(weights_choice(reading({ matrix: "nonsense" })).matrix).toBe("q");
  });

  test("histogram densities, and a Gaussian with the same moments that sums to 1", () => {
    const chart = histogram_chart(reading(), weights_choice(reading()))!;
    expect(Array.from(chart.bars[0]!.heights)).toEqual([0, 4 / 12, 8 / 12, 0]);
    const { edges, heights } = chart.bars[1]!;
    const sum = Array.from(heights).reduce((total, height, bin) => total + height * (edges[bin + 1]! - edges[bin]!), 0);
    expect(sum).toBeGreaterThan(0.9);
    expect(sum).toBeLessThanOrEqual(1.001);
    expect(histogram_chart(reading({ l: "1" }), weights_choice(reading({ l: "1" })))).toBeUndefined();
  });

  test("statistics come from the row, with sorted quantiles", () => {
    const row = row_at(reading().report, "weights", { model: "small", layer: 0, matrix: "q" })!;
    expect(Object.fromEntries(figures(row).map(({ name, value }) => [name, value]))).toMatchObject({
      weights: 16,
      mean: 0.25,
      "standard deviation": 0.5,
      "outside the histogram": 4,
    });
    expect(quantiles(row)).toEqual([
      { name: "1% quantile", value: -1.25 },
      { name: "50% quantile", value: 0.125 },
    ]);
  });
});

describe("a matrix as an image", () => {
  test("bytes are decoded to numbers between the limits", () => {
    const { report } = reading();
    expect(Array.from(image_values(report, image_of(report, "small", 0, "q")!))).toEqual([-0.5, 0, 0.5, 0]);
    expect(image_chart(reading(), 1, "q")).toBeUndefined();
  });

  test("the scale ends at 4 standard deviations of block means", () => {
    expect(image_chart(reading(), 0, "q")!.scale.domain).toEqual([-1, 1]); // 4 · 0.5 / √(2 · 2)
    expect(image_chart(reading(), 0, "q")!.heads).toEqual({ along: "rows", count: 2 });
  });
});
