// Charts of compressed models and of changes from a base model.
import { describe, expect, test } from "vitest";
import type { State } from "../../src/shaping/state";
import { chosen_row } from "../../src/shaping/method_comparison";
import { change_ranks, change_sizes, spectra_of_change } from "../../src/views/difference/charts";
import { commands_of, cost_chart, layer_influence, layer_losses, planned_ranks, row_at_vertex } from "../../src/views/plan/charts";
import { reading } from "./findings/made_readings";

const row = (form: string, parameters: number, bytes: number, loss: number, target: string) => ({
  method: form,
  description: form,
  parameters,
  kv_cache_bytes_per_token: bytes,
  relative_flops: 1,
  loss_increase: loss,
  loadable: form !== "low-rank",
  note: "",
  target,
});
const part = (layer: number, matrix: string, rank: number | null) => ({ layer, matrix, rank, max_possible_rank: 10 });
const made = reading({
  model: { parameters: 100, kv_cache_bytes_per_token: 10, layers: 2 },
  rows: {
    plan: [
      row("mla", 110, 5, 0.01, "kv_bytes 5"),
      row("mlp", 80, 10, 0.05, "set mlp=8"),
      row("mlp", 90, 10, Math.log(1.02), "set mlp=9"),
      row("low-rank", 50, 10, 0.2, "keep 0.5"),
    ],
    plan_ranks: [part(0, "q", 4), part(0, "up", null), part(1, "up", 5)],
    plan_layers: [
      {
        layer: 0,
        loss_increase: 3,
        attention_loss_increase: 0.1,
        mlp_loss_increase: 2.9,
        block_influence: 0.5,
        attention_influence: null,
        mlp_influence: null,
      },
      {
        layer: 1,
        loss_increase: 0.2,
        attention_loss_increase: null,
        mlp_loss_increase: 0.1,
        block_influence: 0.1,
        attention_influence: null,
        mlp_influence: null,
      },
    ],
    diff: [
      { layer: 0, matrix: "q", head: null, shape: [8, 8], max_possible_rank: 8, relative_change: 0.1, change_norm: 1,
        energy_rank: { "0.5": 1, "0.9": 2 }, random_energy_rank: { "0.5": 3, "0.9": 6 }, weight_energy_rank: { "0.5": 2, "0.9": 5 },
        output_space: null, input_space: null }, // prettier-ignore
    ],
  },
});
const at = (params: State["params"]) => ({ ...made, state: { view: "plan", params } });

describe("perplexity vs. saving", () => {
  test("has one line per method that saves something", () => {
    const chart = cost_chart(made);
    expect(chart?.series.map(({ key }) => key)).toEqual(["mlp", "low-rank"]);
    const [width] = chart?.panels[0]?.lines ?? [];
    expect(Array.from(width?.x ?? []).map((x) => Math.round(x * 100))).toEqual([0, 10, 20]);
    expect(Array.from(width?.y ?? [])[1]).toBeCloseTo(2);
    expect(cost_chart(at({ of: "cache" }))?.series.map(({ key }) => key)).toEqual(["mla"]);
  });

  test("marks the selected row, by default the first that saves something", () => {
    expect(chosen_row(made)?.target).toBe("set mlp=8");
    expect(cost_chart(made)?.chosen).toEqual({ series: "mlp", index: 2 });
    expect(cost_chart(at({ p: "3" }))?.chosen).toEqual({ series: "low-rank", index: 1 });
    expect(cost_chart(at({ p: "0" }))?.chosen).toBeUndefined();
    expect(row_at_vertex(made, "mlp", 1)).toBe(2);
    expect(row_at_vertex(made, "mlp", 0)).toBeUndefined();
  });

  test("shows the commands of a row", () => {
    const [report] = made.report.file.reports;
    Object.assign(report ?? {}, { again: "attnscope plan 'my model' --calibration-file t.txt" });
    expect(commands_of(made, chosen_row(at({ p: "0" })) as never)).toEqual([
      "attnscope plan 'my model' --calibration-file t.txt --method mla --kv-bytes 5 -o plan.json",
      "attnscope shrink 'my model' plan.json --calibration-file t.txt -o smaller",
    ]);
  });
});

test("planned ranks are relative to the maximum; an unfactored matrix has 1", () => {
  expect(planned_ranks(made)?.cells).toEqual([
    [0.4, 1],
    ["missing", 0.5],
  ]);
});

test("one bar per layer, attention and MLP; the first layer's are clipped", () => {
  const chart = layer_losses(made);
  expect(chart?.columns.map(({ series, heights }) => [series, heights])).toEqual([
    ["layer", [3, 0.2]],
    ["attention", [0.1, null]],
    ["mlp", [2.9, 0.1]],
  ]);
  expect(chart?.y.domain[1]).toBeCloseTo(0.3);
});

test("influence has no bars without values", () => {
  const chart = layer_influence(made);
  expect(chart?.columns).toEqual([{ series: "layer", heights: [0.5, 0.1] }]);
  expect(chart?.series.map(({ key }) => key)).toEqual(["layer"]);
});

test("a change is relative to its base, its rank to the maximum", () => {
  expect(change_sizes(made)?.cells).toEqual([[0.1]]);
  expect(change_ranks(made)?.cells).toEqual([[0.25]]);
  expect(change_ranks(made)?.note).toContain("75%");
  expect(spectra_of_change(made)?.panels[0]?.lines[0]).toEqual({ series: "change", x: [0.125, 0.25], y: [0.5, 0.9] });
});
