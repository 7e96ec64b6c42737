import { describe, expect, test } from "vitest";
import { draw_token_lines, type TokenLines } from "../../src/chart/token_lines";
import { all_by_tag } from "../../src/chart/svg_tree";
import { kLight } from "../../src/chart/theme";
import { comparison_charts } from "../../src/views/models/charts";
import { analysis_of, kModel, reading_of, report_of } from "./report_by_hand";

const kWeights = [
  [1, 0],
  [0.25, 0.75],
];
const lines_of = (more: Partial<TokenLines> = {}) => {
  const chart: TokenLines = {
    queries: ["a", "b"],
    keys: ["a", "b"],
    heads: [{ color: "#123456", weight: (query, key) => kWeights[query]?.[key] ?? 0 }],
    shown: () => true,
    ...more,
  };
  return all_by_tag(draw_token_lines(chart, kLight, 500), "line").map((line) => Number(line.attributes["stroke-opacity"]));
};

describe("lines between tokens", () => {
  test("one for each weight above 0, strong ones last", () => expect(lines_of()).toEqual([0.25, 0.75, 1]));
  test("of a query", () => expect(lines_of({ place: { side: "query", index: 1 } })).toEqual([0.25, 0.75]));
  test("of a key", () => expect(lines_of({ place: { side: "key", index: 0 } })).toEqual([0.25, 1]));
  test("of one direction", () => expect(lines_of({ shown: (query, key) => query === 1 && key === 0 })).toEqual([0.25]));
  test("of several heads", () => {
    const head = { color: "#654321", weight: () => 0.5 };
    expect(lines_of({ heads: [head, head], place: { side: "query", index: 0 } })).toEqual([0.5, 0.5, 0.5, 0.5]);
  });
});

describe("comparison of models by one measure", () => {
  const models = ["a", "b"].map((name) => ({ ...kModel, name, layers: 2 }));
  const row = (model: string, layer: number, std: number, head: number | null = null) => ({
    model,
    layer,
    matrix: "q",
    head,
    std,
    excess_kurtosis: -std,
  });
  const rows = [row("a", 0, 1), row("a", 1, 2), row("a", 1, 99, 0), row("b", 0, 3), row("b", 1, 4)];
  const report = report_of({ models, reports: [analysis_of("weights", rows)] });

  test("weights of whole matrices, by relative depth", () => {
    const charts = comparison_charts(reading_of(report));
    expect(charts.map(({ name }) => name)).toEqual(["models-weights-std", "models-weights-excess-kurtosis"]);
    expect(charts[0]?.panels[0]?.lines.map(({ x, y }) => [Array.from(x), Array.from(y)])).toEqual([
      [
        [0, 1],
        [1, 2],
      ],
      [
        [0, 1],
        [3, 4],
      ],
    ]);
    expect(charts[1]?.y.domain[0]).toBeLessThanOrEqual(-4);
  });
  test("none of a single model", () =>
    expect(comparison_charts(reading_of(report_of({ models: models.slice(0, 1), reports: [analysis_of("weights", rows)] })))).toEqual([]));
});
