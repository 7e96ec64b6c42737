import { describe, expect, test } from "vitest";
import { row_at } from "../../src/data/report";
import { usual_layers } from "../../src/shaping/layers";
import { spectrum_quantity } from "../../src/shaping/spectrum_quantity";
import { array_charts } from "../../src/views/spectra/array_spectrum";
import { head_of, hidden_at_first, spectra_axes, spectra_chart, spectra_choice } from "../../src/views/spectra/charts";
import { components_chart } from "../../src/views/spectra/energy_ranks";
import { mla_chart } from "../../src/views/spectra/kv_latent";
import { analysis_of, reading_of, report_of } from "./report_by_hand";
import { kModel, reading } from "./small_report";

const row = () => row_at(reading().report, "spectrum", { model: "small", layer: 0, matrix: "q" })!;
const chart = (params: Record<string, string> = {}) => spectra_chart(reading(params), spectra_choice(reading(params)));

describe("quantities of a spectrum", () => {
  test("singular values come from the report", () => {
    expect([...Array.from(spectrum_quantity(reading().report, row(), "values")!)]).toEqual([3, 2, 1]);
  });

  test("relative to random: divided by the scaled baseline", () => {
    expect(Array.from(spectrum_quantity(reading().report, row(), "null")!)).toEqual([3, 2, 1]);
  });

  test("energy is the cumulative fraction of squares", () => {
    expect(Array.from(spectrum_quantity(reading().report, row(), "energy")!)).toEqual([9 / 14, 13 / 14, 1]);
  });

  test("rows without values or without a baseline have no line", () => {
    const { singular_values: _, ...bare } = row();
    expect(spectrum_quantity(reading().report, bare, "values")).toBeUndefined();
    expect(spectrum_quantity(reading().report, { ...row(), random_singular_values: undefined }, "null")).toBeUndefined();
  });
});

describe("panels", () => {
  test("by layer: one line per matrix, with the baseline of the first square one; skipped and missing layers differ", () => {
    const [first, skipped, missing] = chart({ layers: "0,1,2" }).panels;
    expect(first!.lines.map((line) => line.series)).toEqual(["null", "q", "k", "qk"]);
    expect(Array.from(first!.lines[0]!.y)).toEqual([1, 1, 1]);
    expect(skipped).toMatchObject({ lines: [], empty: "skipped" });
    expect(missing).toMatchObject({ lines: [], empty: "not in this report" });
  });

  test("by matrix: one line per layer", () => {
    const { panels, series } = chart({ by: "matrix" });
    expect(panels).toHaveLength(3);
    expect(panels[0]!.lines.map((line) => line.series)).toEqual(["null", "0"]);
    expect(series.map((each) => each.key)).toEqual(["0", "1", "null"]);
  });

  test("for a head: spectra of the query head and its KV head", () => {
    expect(head_of({ ...kModel, heads: 6, kv_heads: 2 }, "k", 4)).toBe(1);
    expect(head_of({ ...kModel, heads: 6, kv_heads: 2 }, "q", 4)).toBe(4);
    const { panels, series } = chart({ head: "1" });
    expect(panels[0]!.lines.map((line) => line.series)).toEqual(["null", "q", "k"]);
    expect(series.map((each) => each.key)).toEqual(["q", "k", "null"]);
  });

  test("layers: up to eight, otherwise the first and last four, or valid ones in the address", () => {
    expect(usual_layers([2, 3, 5])).toEqual([2, 3, 5]);
    expect(usual_layers([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])).toEqual([0, 1, 2, 3, 8, 9, 10, 11]);
    expect(spectra_choice(reading({ layers: "0,2,7,x" })).layers).toEqual([0, 2]);
    expect(spectra_choice(reading()).layers).toEqual([0, 1]); // the report has no layer 2, and layer 1 was skipped
  });

  test("projections are shown by default, or everything if there are none", () => {
    expect(hidden_at_first(["q", "k", "qk", "up"])).toEqual(["qk", "up"]);
    expect(hidden_at_first(["qk", "ov"])).toEqual([]);
  });
});

describe("axes", () => {
  test("logarithmic y ends at 1/300 of the maximum", () => {
    const { y } = chart();
    expect(y.scale).toBe("log");
    expect(y.domain[0]).toBeCloseTo(3 / 300);
  });

  test("axes fit the visible lines", () => {
    const choice = spectra_choice(reading());
    const { y } = spectra_axes(choice, [{ lines: [{ series: "q", x: [1, 2], y: [30, 1] }] }]);
    expect(y.domain[0]).toBeCloseTo(0.1);
    expect(spectra_axes(choice, [{ lines: [] }]).x.domain[1]).toBe(2);
  });

  test("relative to random includes 1, energy spans 0 to 1", () => {
    const { y, rule } = chart({ show: "null" });
    expect(rule).toBe(1);
    expect(y.domain[0]).toBeLessThan(1);
    expect(chart({ show: "energy" }).y.domain).toEqual([0, 1]);
  });
});

test("energy ranks: one panel per threshold, one baseline per shape", () => {
  const { panels } = components_chart(reading());
  expect(panels).toHaveLength(2);
  const [ninety] = panels;
  expect(ninety!.lines.filter((line) => line.series === "null")).toHaveLength(1);
  const line = ninety!.lines.find((each) => each.series === "q")!;
  expect([Array.from(line.x), Array.from(line.y)]).toEqual([[0], [2]]);
});

test("energy kept by a latent: panels for queries and for keys and values, a gap for a zero layer", () => {
  const side = (energy: number | null) => ({
    max_possible_rank: 64,
    rank: 512,
    energy: 1,
    random_energy: 1,
    share_rank: 6,
    share_energy: energy,
    share_random_energy: energy === null ? null : 0.25,
  });
  const rows = [1, 0].map((layer) => ({ model: "small", layer, query: side(0.5), kv: side(layer === 0 ? 0.75 : null) }));
  const { panels } = mla_chart(reading_of(report_of({ reports: [analysis_of("mla", rows)] })))!;
  expect(panels.map(({ title }) => title)).toEqual(["Latent of rank 6 for queries", "Latent of rank 6 for keys and values"]);
  expect(panels[1]!.lines).toEqual([
    { series: "null", x: [0, 1], y: [0.25, null] },
    { series: "kv", x: [0, 1], y: [0.75, null] },
  ]);
  expect(mla_chart(reading())).toBeUndefined();
});

test("an array has one chart per quantity, and none without singular values", () => {
  const spectrum = { shape: [3, 4], energy_rank: { "0.9": 2 }, singular_values: [3, 2, 1], random_singular_values: [2, 1.5, 1] };
  const array = (row: object) => array_charts(report_of({ models: [], reports: [analysis_of("spectrum", [row])] }));
  const charts = array(spectrum);
  expect(charts.map(({ name }) => name)).toEqual(["spectrum-values", "spectrum-null", "spectrum-energy"]);
  expect(charts.map(({ panels }) => panels[0]!.lines.map(({ series, y }) => [series, ...Array.from(y)]))[0]).toEqual([
    ["null", 2, 1.5, 1],
    ["values", 3, 2, 1],
  ]);
  expect(array({ ...spectrum, singular_values: undefined })).toEqual([]);
});
