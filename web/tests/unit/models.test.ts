import { describe, expect, test } from "vitest";
import { chart_tree } from "../../src/chart/chart";
import { kLight } from "../../src/chart/theme";
import { svg_text } from "../../src/chart/svg_tree";
import { depth, ranks_by_depth } from "../../src/shaping/relative_depth";
import { by_step, training_step } from "../../src/shaping/training_steps";
import { max_rank_by_depth, models_charts, ranks_by_step, step_axis } from "../../src/views/models/view";
import { analysis_of, kModel, reading_of, report_of } from "./report_by_hand";

describe("training steps", () => {
  test.each([
    ["step1000", 1000],
    ["checkpoint-500", 500],
    ["models/pythia-70m/step143000", 143000],
    ["global_step0042", 42],
    ["pythia-70m-step64", 64],
    ["run_ckpt_12", 12],
    ["iter-3k", 3000],
    ["step=2M", 2000000],
    ["step0", 0],
    ["checkpoint-100/step7", 7],
  ])("%s", (name, step) => expect(training_step(name)).toBe(step));

  test.each(["gpt2", "llama-7b", "stepwise3", "footstep5", "step", "checkpoint", "pythia-70m", "step12abc"])("none in %s", (name) =>
    expect(training_step(name)).toBeUndefined(),
  );

  test("revisions of one shape, sorted by step", () => {
    const model = (name: string, width = 32) => ({ ...kModel, name, hidden_size: width });
    const found = by_step([model("step900"), model("base"), model("step20"), model("step5", 64)]);
    expect(found.map(({ step }) => step)).toEqual([20, 900]);
    expect(by_step([model("base")])).toEqual([]);
  });
});

const revision = (name: string, layers: number) => ({ ...kModel, name, layers });
const rows = (name: string, layers: number, rank: number) =>
  Array.from({ length: layers }, (_, layer) => ({
    model: name,
    layer,
    matrix: "q",
    head: null,
    energy_rank: { "0.9": rank + layer },
    random_energy_rank: { "0.9": 10 },
    max_possible_rank: 20,
  }));

describe("comparison of models", () => {
  const report = report_of({
    models: [revision("a", 3), revision("b", 5)],
    reports: [analysis_of("spectrum", [...rows("a", 3, 5), ...rows("b", 4, 6)])],
  });

  test("by relative depth, relative to random, with gaps for missing layers", () => {
    const [a, b] = ranks_by_depth(reading_of(report))!.panels[0]!.lines;
    expect([Array.from(a!.x), Array.from(a!.y)]).toEqual([
      [0, 0.5, 1],
      [0.5, 0.6, 0.7],
    ]);
    expect(Array.from(b!.y)).toEqual([0.6, 0.7, 0.8, 0.9, null]);
    expect(depth(0, 1)).toBe(0);
  });

  test("can be drawn", () => {
    expect(svg_text(chart_tree(ranks_by_depth(reading_of(report))!, kLight, 900))).toContain("50%");
  });

  test("each has its own color and dash", () => {
    const { series } = ranks_by_depth(reading_of(report))!;
    expect(new Set(series.map((each) => JSON.stringify([each.color, each.dash]))).size).toBe(2);
  });

  test("charts without data are omitted, and a report of one model has none", () => {
    expect(max_rank_by_depth(reading_of(report))).toBeUndefined();
    expect(ranks_by_step(reading_of(report))).toBeUndefined();
    expect(models_charts(reading_of(report_of({})))).toEqual([]);
    expect(models_charts(reading_of(report, {}, report.file.models[1]))).toEqual([]);
  });
});

describe("revisions", () => {
  const names = ["step1000", "step0", "step10"];
  const report = report_of({
    models: names.map((name) => revision(name, 2)),
    reports: [
      analysis_of(
        "spectrum",
        names.flatMap((name, index) => rows(name, 2, index + 1)),
      ),
    ],
  });

  test("one line per layer by training step", () => {
    const chart = ranks_by_step(reading_of(report))!;
    expect(chart.panels[0]!.lines.map((line) => [line.series, Array.from(line.x), Array.from(line.y)])).toEqual([
      ["0", [0, 10, 1000], [0.2, 0.3, 0.1]],
      ["1", [0, 10, 1000], [0.3, 0.4, 0.2]],
    ]);
  });

  test("the axis is logarithmic if steps span more than two decades", () => {
    expect(step_axis([10, 100]).scale).toBe("linear");
    expect(step_axis([10, 100000])).toMatchObject({ scale: "log", domain: [10, 100000] });
    expect(step_axis([0, 10, 100000])).toMatchObject({ scale: "symlog", domain: [0, 100000] });
  });
});
