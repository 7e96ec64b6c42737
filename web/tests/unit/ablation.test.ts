// Charts of heads that are ablated together.
import { expect, test } from "vitest";
import { cumulative_chart, pairs_chart } from "../../src/views/ablation/charts";
import { kModel, reading } from "./small_report";
import type { Analysis } from "../../src/data/report_file";
import type { Reading } from "../../src/shaping/reading";

const reading_of = (id: string, rows: object[]): Reading => {
  const small = reading();
  const part = { id, model: kModel.name, again: "", command: "ablate", parameters: {}, rows, skipped: [] };
  return { ...small, report: { ...small.report, file: { ...small.report.file, reports: [part as unknown as Analysis] } } };
};

test("more and more ablated heads are one line per order, from no head on", () => {
  const row = (order: string, draw: number | null, removed: number, loss_increase: number) => ({
    model: "small",
    order,
    draw,
    removed,
    loss_increase,
  });
  const chart = cumulative_chart(
    reading_of("ablate_cumulative", [
      row("effect", null, 1, -0.5),
      row("effect", null, 2, 0.25),
      row("random", 0, 1, 0.5),
      row("random", 0, 2, 0.25),
      row("random", 1, 1, 0.75),
      row("random", 1, 2, 0.25),
    ]),
  )!;
  expect(chart.panels[0]!.lines.map(({ series, x, y, label }) => ({ series, x, y, label }))).toEqual([
    { series: "effect", x: [0, 1, 2], y: [0, -0.5, 0.25], label: undefined },
    { series: "random", x: [0, 1, 2], y: [0, 0.5, 0.25], label: "random order 1" },
    { series: "random", x: [0, 1, 2], y: [0, 0.75, 0.25], label: "random order 2" },
  ]);
  expect(chart.y.domain[0]).toBe(-0.5);
  expect(chart.note).toContain("2 random orders");
});

test("pairs of heads are a symmetric heatmap without a diagonal", () => {
  const row = (heads: string, interaction: number | null, interaction_error: number | null) => ({
    model: "small",
    heads,
    count: heads.split(",").length,
    interaction,
    interaction_error,
  });
  const chart = pairs_chart(
    reading_of("ablate_pairs", [
      row("L0H0", null, null),
      row("L0H1", null, null),
      row("L2H1", null, null),
      row("L0H0,L0H1", 0.002, 0.0005),
      row("L0H0,L2H1", 0.001, 0.0009),
      row("L0H1,L2H1", -0.003, null),
    ]),
  )!;
  expect(chart.cells).toEqual([
    ["missing", 2, null],
    [2, "missing", -3],
    [null, -3, "missing"],
  ]);
  expect(chart.rows.labels).toEqual(["L0H0", "L0H1", "L2H1"]);
});

test("reports without these rows have neither chart", () => {
  const none = reading_of("ablate", []);
  expect(cumulative_chart(none)).toBeUndefined();
  expect(pairs_chart(none)).toBeUndefined();
});
