// Charts of effects on prompts with answers.
import { describe, expect, test } from "vitest";
import { cell_words } from "../../src/chart/heatmap";
import { column_words } from "../../src/chart/grouped_bars";
import { heads_chart, layers_chart } from "../../src/views/prompts/component_charts";
import { patching_charts } from "../../src/views/prompts/patching_charts";
import { path_charts } from "../../src/views/prompts/path_charts";
import { prompts_view } from "../../src/views/prompts/view";
import { analysis_of, kModel, reading_of, report_of } from "./report_by_hand";
import type { AnalysisId } from "../../src/data/report_file";

const reading = (id: AnalysisId, rows: object[]) => reading_of(report_of({ reports: [analysis_of(id, rows)] }));

interface Certainty {
  low?: number | null;
  high?: number | null;
  p?: number;
  significant?: boolean | null;
}

const direction = (name: string, effect: number | null, error: number | null, { low, high, p, significant }: Certainty) => ({
  [`${name}_effect`]: effect,
  [`${name}_effect_error`]: error,
  [`${name}_effect_low`]: low ?? null,
  [`${name}_effect_high`]: high ?? null,
  [`${name}_p_value`]: p ?? null,
  [`${name}_significant`]: significant ?? null,
});
const none = (name: string) => direction(name, null, null, {});
const both = (effect: number, error: number, certainty: Certainty = {}) => ({
  ...direction("denoising", effect, error, certainty),
  ...direction("noising", 2 * effect, error, certainty),
});

describe("effects of components", () => {
  const row = (component: string, layer: number, head: number | null, effects: object) => ({
    model: kModel.name,
    component,
    layer,
    head,
    ablation: "corrupted",
    tests: 40,
    ...effects,
  });

  test("not significant ones have no number, but a tooltip with it", () => {
    const chart = heads_chart(
      reading("ablate_prompts", [
        row("head", 0, 1, both(0.125, 0.01, { low: 0.1, high: 0.15, p: 0.001, significant: true })),
        row("head", 2, 3, both(-0.05, 0.04, { low: -0.1, high: 0.02, p: 0.3, significant: false })),
      ]),
      "denoising",
    )!;
    expect(chart.cells).toEqual([
      ["missing", 12.5, "missing", "missing"],
      ["missing", "missing", "missing", "missing"],
      ["missing", "missing", "missing", null],
    ]);
    expect(cell_words(chart, 0, 1)).toBe("L0H1: +12.5%, 95% interval +10.0% to +15.0%, p = 0.001");
    expect(cell_words(chart, 2, 3)).toBe("L2H3: not significant: −5.0%, 95% interval −10.0% to +2.0%, p = 0.3");
    expect(chart.note).toContain("not significant (40 tests, false discovery rate 5%)");
  });

  test("without a test, those within 2 standard errors have no number", () => {
    const rows = [row("head", 0, 0, both(0.1, 0.06)), row("head", 0, 1, both(0.1, 0.04)), row("head", 0, 2, both(0, 0))];
    const chart = heads_chart(reading("ablate_prompts", rows), "denoising")!;
    expect(chart.cells[0]).toEqual([null, 10, 0, "missing"]);
    expect(chart.note).toContain("within 2 standard errors of 0");
  });

  test("layers are bars with whiskers at the interval", () => {
    const rows = [
      row("attention", 1, null, both(0.5, 0.1, { low: 0.25, high: 0.625, p: 0.01, significant: true })),
      row("mlp", 1, null, both(0.01, 0.01, { p: 0.4, significant: false })),
    ];
    const chart = layers_chart(reading("ablate_prompts", rows), "noising")!;
    expect(chart.columns).toEqual([
      { series: "attention", heights: [null, 100, null], intervals: [null, [25, 62.5], null], gray: [false, false, false] },
      { series: "mlp", heights: [null, 2, null], intervals: [null, null, null], gray: [false, true, false] },
    ]);
    expect(column_words(chart, 1, 0)).toBe("layer 1, attention: share of the gap (%) 100, 95% interval 25 to 62.5");
  });

  test("without corrupted prompts, components are ablated, in one direction", () => {
    const rows = [{ ...row("head", 0, 0, { ...none("denoising"), ...direction("noising", 0.5, 0.1, {}) }), ablation: "mean" }];
    expect(heads_chart(reading("ablate_prompts", rows), "denoising")).toBeUndefined();
    const chart = heads_chart(reading("ablate_prompts", rows), "noising")!;
    expect(chart.title).toBe("Ablation effect of each head");
    expect(chart.note).toContain("replaced by its mean over the prompts");
  });
});

describe("activation patching", () => {
  const row = (layer: number, head: number | null, position: number | null, token: string | null, effect: number) => ({
    model: kModel.name,
    component: head === null ? "resid_pre" : "head",
    layer,
    head,
    position,
    token,
    prompts: 9,
    tests: 4,
    ...direction("denoising", effect, 0.01, { p: 0.004, significant: Math.abs(effect) > 0.1 }),
    ...none("noising"),
    denoising_change: effect,
    denoising_change_error: 0.01,
    noising_change: null,
    noising_change_error: null,
  });

  test("one heat map per kind, with tokens as labels and the largest heads first", () => {
    const charts = patching_charts(
      reading("ablate_patching", [
        row(0, null, 0, " the", 0.05),
        row(0, null, 1, "cat", 0.9),
        row(0, 2, 0, " the", 0.2),
        row(0, 2, 1, "cat", 0.01),
        row(1, 0, 0, " the", -0.01),
        row(1, 0, 1, "cat", -0.4),
      ]),
    );
    expect(charts.map(({ name }) => name)).toEqual(["patching-resid_pre", "patching-head"]);
    expect(charts[0]!.cells).toEqual([[null, 90]]);
    expect(charts[0]!.columns.labels).toEqual(["0  the", "1 cat"]);
    expect(charts[0]!.note).toContain("tokens of the first clean prompt");
    expect(charts[1]!.rows.labels).toEqual(["L1H0", "L0H2"]);
    expect(charts[1]!.cells).toEqual([
      [null, -40],
      [20, null],
    ]);
  });

  test("labeled positions and all positions together are named", () => {
    const labels = (rows: object[]) => patching_charts(reading("ablate_patching", rows))[0]!.columns.labels;
    expect(labels([row(0, null, null, "subject", 1)])).toEqual(["subject"]);
    expect(labels([row(0, null, null, null, 1)])).toEqual(["all positions"]);
    expect(labels([row(0, null, -1, null, 1)])).toEqual(["-1"]);
  });
});

describe("path patching", () => {
  const row = (sender: string, receiver: string, effect: number, composition: number | null) => ({
    model: kModel.name,
    sender,
    receiver,
    composition,
    tests: 7,
    ...direction("denoising", effect, 0.001, { p: 0.01, significant: Math.abs(effect) >= 0.01 }),
    ...none("noising"),
    denoising_change: effect,
    noising_change: null,
  });
  const of_layers = [
    row("layer 0", "layer 1.q", 0.25, 0.5),
    row("layer 0", "layer 2.q", 0.001, 0.25),
    row("layer 0", "layer 1.k", -0.5, 0.125),
    row("layer 0", "logits", 0.75, null),
    row("layer 1", "layer 2.q", 0.02, null),
    row("layer 1", "logits", 0.002, null),
  ];

  test("each input has a heat map of effects next to one of composition", () => {
    const charts = path_charts(reading("ablate_path", of_layers));
    expect(charts.map((of_input) => of_input.map(({ name }) => name))).toEqual([
      ["paths-q", "paths-q-composition"],
      ["paths-k", "paths-k-composition"],
      ["paths-logits"],
    ]);
    const [effects, composition] = charts[0]!;
    expect(effects!.rows).toEqual({ title: "sender layer", labels: ["0", "1"] });
    expect(effects!.columns).toEqual({ title: "receiver layer", labels: ["1", "2"] });
    expect(effects!.cells).toEqual([
      [25, null],
      ["missing", 2],
    ]);
    expect(effects!.scale.domain).toEqual([-50, 50]);
    expect(cell_words(effects!, 1, 0)).toBe("sender layer 1, receiver layer 1: only later layers receive");
    expect(composition!.scale.domain[0]).toBeCloseTo(1 / Math.sqrt(kModel.hidden_size), 12);
    expect(composition!.cells).toEqual([
      [0.5, 0.25],
      ["missing", null],
    ]);
    const logits = charts[2]![0];
    expect(logits!.cells).toEqual([[75, null]]);
    expect(logits!.columns.labels).toEqual(["0", "1"]);
    expect(cell_words(logits!, 0, 0)).toBe("receiver logits, sender layer 0: +75.0%, p = 0.01");
  });

  test("heads and several receivers keep their names", () => {
    const charts = path_charts(reading("ablate_path", [row("L0H1,L0H2", "L2H0.q,L2H3.k", 0.5, 0.1), row("L0H1,L0H2", "L1H0.v", 0.5, 0.1)]));
    expect(charts.map((of_input) => of_input.map(({ name }) => name))).toEqual([["paths-v", "paths-v-composition"], ["paths-receivers"]]);
    expect(charts[0]![0]!.rows).toEqual({ title: "sender", labels: ["L0H1,L0H2"] });
    expect(charts[1]![0]!.rows.labels).toEqual(["L2H0.q,L2H3.k"]);
  });

  test("many lines are reduced to those with the largest effects", () => {
    const many = Array.from({ length: 60 }, (_, at) => row(`L0H${at}`, "L1H0.q", at === 59 ? 1 : 0.01 + at / 1000, 0.1));
    const [chart] = path_charts(reading("ablate_path", many))[0]!;
    expect(chart!.rows.labels).toHaveLength(48);
    expect(chart!.rows.labels[0]).toBe("L0H12");
    expect(chart!.note).toContain("Only the 48");
  });
});

test("the view is listed only if the report has prompts", () => {
  expect(prompts_view.named!(report_of({}))).toBe(false);
  expect(prompts_view.named!(report_of({ reports: [analysis_of("ablate_path", [])] }))).toBe(true);
  expect(prompts_view.named!(report_of({ skipped: [{ part: "ablate_prompts", model: "small", why: "no", command: null }] }))).toBe(true);
  expect(prompts_view.charts!(reading_of(report_of({})))).toEqual([]);
});
