// Charts of MoE models.
import { describe, expect, test } from "vitest";
import { balance_chart, expert_matrices, load_chart, rank_chart, space_chart, together_chart } from "../../src/views/experts/charts";
import { experts_view } from "../../src/views/experts/view";
import { reading } from "./findings/made_readings";

const ranks = (layer: number, expert: number | undefined, rank: number) => ({
  layer,
  matrix: "up",
  ...(expert === undefined ? { experts: 2 } : { expert }),
  max_possible_rank: 10,
  energy_rank: { "0.9": rank },
  random_energy_rank: { "0.9": 8 },
});
const made = reading({
  model: { experts: 4 },
  rows: {
    expert_spectra: [ranks(1, 0, 5), ranks(1, 3, 2), ranks(1, undefined, 2)],
    routing: [
      { layer: 1, experts: 4, experts_per_token: 2, tokens: 8, load: [0.5, 0.25, 0.25, 0], effective_experts: 2.8,
        coactivation: [[1, 0.5, 0.5, 0], [0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0], [0, 0, 0, 0]] }, // prettier-ignore
    ],
  },
});

describe("experts", () => {
  test("load is relative to balanced load", () => {
    expect(load_chart(made)?.cells).toEqual([[2, 1, 1, 0]]);
    expect(balance_chart(made)?.rule).toBe(4);
  });

  test("ranks are those of single experts in the report", () => {
    expect(expert_matrices(made)).toEqual(["up"]);
    const chart = rank_chart(made, "up");
    expect(chart?.columns.labels).toEqual(["0", "3"]);
    expect(chart?.cells).toEqual([[0.5, 0.2]]);
    expect(chart?.note).toContain("80%");
  });

  test("coactivation is relative to independent routing; unused experts have none", () => {
    const cells = together_chart(made, 1)?.cells;
    expect(cells?.[0]).toEqual([null, 1, 1, null]);
    expect(cells?.[1]?.[2]).toBe(0);
    expect(together_chart(made, 0)).toBeUndefined();
  });

  test("no charts without a text or without experts", () => {
    const none = reading({});
    expect([load_chart(none), space_chart(none), rank_chart(none, "up"), balance_chart(none)]).toEqual(Array(4).fill(undefined));
    expect(experts_view.charts?.(none)).toEqual([]);
    expect(experts_view.named?.(none.report)).toBe(false);
    expect(experts_view.named?.(made.report)).toBe(true);
  });
});
