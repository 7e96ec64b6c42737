// Findings about attention on a text, and trends with depth.
import { describe, expect, test } from "vitest";
import { attention_rank_by_depth } from "../../../src/findings/attention_rank_by_depth";
import { collapsed_layers } from "../../../src/findings/collapsed_layers";
import { induction_heads } from "../../../src/findings/induction_heads";
import { previous_token_heads } from "../../../src/findings/previous_token_heads";
import { attention_sink_heads } from "../../../src/findings/attention_sink_heads";
import { trend } from "../../../src/findings/trend_with_depth";
import { attention_head, attention_layer, said, type Made } from "./made_readings";

describe("a trend", () => {
  test.each([
    [[89, 66, 40, 18, 5, 3], "falls"],
    [[3, 5, 18, 40, 66, 89], "rises"],
    [[97, 97, 50, 50, 3, 3], "falls"],
    [[90, 60, 61, 30, 20], "falls"],
    [[89, 66, 40, 18, 35, 3], undefined],
    [[100, 50, 20, 22, 24, 26], undefined],
    [[20, 50, 90, 50, 20], undefined],
    [[97, 97, 97, 97, 3], undefined],
    [[97, 3, 3, 3, 3], undefined],
    [[55, 32, 33, 32, 30, 29], undefined],
    [[5, 5, 5, 5], undefined],
    [[9, 6, 3], undefined],
    [[9, 6, null, 3, 1], undefined],
    [[], undefined],
  ] as [(number | null)[], string | undefined][])("trend of %j: %s", (values, way) => expect(trend(values)).toBe(way));

  test("must exceed the standard errors", () => {
    const values = [50, 48, 46, 44, 42];
    expect(trend(values, [0.1, 0.1, 0.1, 0.1, 0.1])).toBe("falls");
    expect(trend(values, [4, 4, 4, 4, 4])).toBeUndefined();
    expect(trend(values, [null, null, null, null, null])).toBe("falls");
  });
});

const layers = (values: (number | null)[], more: object = {}): Made => ({
  model: { layers: values.length },
  rows: { attention: values.map((value, layer) => attention_layer(layer, value, more)) },
});

describe("rank of attention with depth", () => {
  test("shows first, last and maximum possible rank", () => {
    expect(said(attention_rank_by_depth, layers([89, 66.25, 40, 18, 5, 3]))).toBe(
      "89 → 3 MaxRank at 90% The highest rank of any attention map in a layer falls with depth, from the first to the last layer " +
        "(maximum possible: 100). No layer is clearly above an earlier one.",
    );
    expect(said(attention_rank_by_depth, layers([3, 5, 18, 40]))).toMatch(
      /^3 → 40 MaxRank .* rises with depth, .* No layer is clearly below/,
    );
  });

  test.each([
    ["ranks that rise in between", layers([89, 66, 40, 18, 35, 3])],
    ["ranks that fall and rise again", layers([89, 40, 10, 30, 60, 80])],
    ["a decrease of less than 50%, as with random weights", layers([17.8, 14.1, 13.5, 13.1, 11.1, 10.5])],
    ["a small decrease, as with nearly uniform maps", layers([4.5, 4, 3.5, 3, 2.5])],
    ["a decrease within the standard errors", layers([60, 55, 50, 45, 40, 35], { mean_max_rank_error: 12 })],
    ["one layer", layers([50])],
    ["a short text", { ...layers([12, 9, 6, 3]), parameters: { attention: { length: 13 } } }],
    ["skipped layers", { ...layers([89, 66, 40, 18]), model: { layers: 12 } }],
    ["a null value", layers([89, null, 40, 18, 3])],
    ["no attention", {}],
  ])("not shown for %s", (_, made) => expect(said(attention_rank_by_depth, made as Made)).toBeUndefined());
});

describe("collapsed layers", () => {
  const model = (...collapsed: boolean[]): Made => ({
    model: { layers: collapsed.length },
    rows: {
      attention: collapsed.map((each, layer) =>
        attention_layer(layer, each ? 1.2 : 30, { collapsed: each, mean_energy_columns: each ? 1.1 + layer / 100 : 20 }),
      ),
    },
  });

  test("lists the layers", () => {
    expect(said(collapsed_layers, model(false, false, true, false, true, true, true))).toBe(
      "4 of 7 layers have collapsed In layers 2 and 4–6: rank below 2. Here at most 1.16 of 100 columns hold the energy (uniform: 30).",
    );
    expect(said(collapsed_layers, model(false, true))).toMatch(/^1 of 2 layers has collapsed In layer 1: /);
  });

  test.each([
    ["rows that are not collapsed, despite small ranks", layers([1.9, 1.5, 1.5])],
    ["rows without a decision (short texts, other energy thresholds)", layers([1, 1], { collapsed: null })],
    ["no attention", {}],
  ])("not shown for %s", (_, made) => expect(said(collapsed_layers, made as Made)).toBeUndefined());
});

const heads = (...rows: object[]): Made => ({ rows: { attention: rows.map((row, head) => attention_head(3, head, row)) } });

describe("attention-sink heads", () => {
  test("shows the count and the uniform baseline", () => {
    expect(said(attention_sink_heads, heads({ sink_mass: 0.97 }, { sink_mass: 0.6 }, {}))).toBe(
      "2 of 3 heads are attention-sink heads Strongest: L3H0 puts 97% of its attention on the first token (uniform: 5.2%). " +
        "Threshold: 50%.",
    );
  });

  test("uses the uniform baseline of the head's row", () => {
    expect(said(attention_sink_heads, heads({ sink_mass: 0.97, uniform_sink_mass: 0.01 }))).toContain("(uniform: 1%)");
  });

  test.each([
    ["less than half", heads({ sink_mass: 0.4 })],
    ["half within 2 standard errors", heads({ sink_mass: 0.52, sink_mass_error: 0.05 })],
    ["a very short text", { ...heads({ sink_mass: 0.9 }), parameters: { attention: { length: 4 } } }],
    ["the row of a layer", { rows: { attention: [attention_layer(0, 3, { sink_mass: 0.9 })] } }],
  ])("not shown for %s", (_, made) => expect(said(attention_sink_heads, made as Made)).toBeUndefined());
});

describe("previous-token heads", () => {
  test("uses the singular for one head", () => {
    expect(said(previous_token_heads, heads({ previous_token: 0.98 }, {}))).toBe(
      "1 of 2 heads is a previous-token head Strongest: L3H0 puts 98% of its attention on the previous token (uniform: 4.2%). " +
        "Threshold: 50%.",
    );
  });

  test.each([
    ["a quarter of the attention", heads({ previous_token: 0.25 })],
    ["a single token", { ...heads({ previous_token: null }), parameters: { attention: { length: 1 } } }],
    ["two tokens", { ...heads({ previous_token: 0.9 }), parameters: { attention: { length: 2 } } }],
  ])("not shown for %s", (_, made) => expect(said(previous_token_heads, made as Made)).toBeUndefined());
});

describe("induction heads", () => {
  const induction = (...values: number[]): Made => ({
    rows: {
      induction: values.map((value, head) => ({ layer: 4, head, induction: value, induction_error: 0.01, uniform_induction: 0.014 })),
    },
  });

  test("shows the uniform baseline for blocks of half the text length", () => {
    expect(said(induction_heads, induction(0.61, 0.02))).toBe(
      "1 of 2 heads is an induction head Strongest: L4H0 puts 61% of its attention on the token after the previous occurrence " +
        "(uniform: 1.4%). Input: repeated random tokens. Threshold: 25%.",
    );
  });

  test.each([
    ["scores near uniform attention", induction(0.03, 0.02)],
    ["a quarter within 2 standard errors", induction(0.26)],
    ["very short blocks", { ...induction(0.9), parameters: { induction: { length: 4 } } }],
    ["an encoder with bidirectional attention", { ...induction(0.9), model: { causal: false } }],
    ["no induction", {}],
  ])("not shown for %s", (_, made) => expect(said(induction_heads, made as Made)).toBeUndefined());
});
