// Sentences about attention on texts, and trends with depth.
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
  ] as [(number | null)[], string | undefined][])("of %j: %s", (values, way) => expect(trend(values)).toBe(way));

  test("is not made of errors", () => {
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
  test("says from where to where, of how many", () => {
    expect(said(attention_rank_by_depth, layers([89, 66.25, 40, 18, 5, 3]))).toBe(
      "89 → 3 MaxRank at 90 % of at most 100: from the first layer to the last, attention loses rank with depth, and no layer " +
        "has clearly more than one before it.",
    );
    expect(said(attention_rank_by_depth, layers([3, 5, 18, 40]))).toMatch(
      /^3 → 40 MaxRank .* gains rank with depth, and no layer has clearly less/,
    );
  });

  test.each([
    ["ranks that rise on the way", layers([89, 66, 40, 18, 35, 3])],
    ["ranks that fall and rise again", layers([89, 40, 10, 30, 60, 80])],
    ["a fall by less than a half, as random weights have", layers([17.8, 14.1, 13.5, 13.1, 11.1, 10.5])],
    ["a fall of a direction or two, as maps near even have", layers([4.5, 4, 3.5, 3, 2.5])],
    ["falls within the errors", layers([60, 55, 50, 45, 40, 35], { mean_max_rank_error: 12 })],
    ["one layer", layers([50])],
    ["a text of few tokens", { ...layers([12, 9, 6, 3]), parameters: { attention: { length: 13 } } }],
    ["layers that were left out", { ...layers([89, 66, 40, 18]), model: { layers: 12 } }],
    ["a value that is null", layers([89, null, 40, 18, 3])],
    ["no attention", {}],
  ])("is silent of %s", (_, made) => expect(said(attention_rank_by_depth, made as Made)).toBeUndefined());
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

  test("says which, as the rows do", () => {
    expect(said(collapsed_layers, model(false, false, true, false, true, true, true))).toBe(
      "4 of 7 layers have collapsed layers 2 and 4–6: as thin as a line; " + "at most 1.16 of 100 columns here. Even attention needs 30.",
    );
    expect(said(collapsed_layers, model(false, true))).toMatch(/^1 of 2 layers has collapsed layer 1: /);
  });

  test.each([
    ["rows that say no, however small their ranks", layers([1.9, 1.5, 1.5])],
    ["rows that do not say, of short texts and other energies", layers([1, 1], { collapsed: null })],
    ["no attention", {}],
  ])("is silent of %s", (_, made) => expect(said(collapsed_layers, made as Made)).toBeUndefined());
});

const heads = (...rows: object[]): Made => ({ rows: { attention: rows.map((row, head) => attention_head(3, head, row)) } });

describe("sinks", () => {
  test("counts heads and says what even attention gives", () => {
    expect(said(attention_sink_heads, heads({ sink_mass: 0.97 }, { sink_mass: 0.6 }, {}))).toBe(
      "2 of 3 heads park on the first token At least half of their attention goes there, and 97 % in layer 3 head 0. Even " +
        "attention over 100 tokens gives the first 5.2 %.",
    );
  });

  test("names the even attention of the head's own layer", () => {
    expect(said(attention_sink_heads, heads({ sink_mass: 0.97, uniform_sink_mass: 0.01 }))).toContain("gives the first 1 %");
  });

  test.each([
    ["less than half", heads({ sink_mass: 0.4 })],
    ["half, but for the error", heads({ sink_mass: 0.52, sink_mass_error: 0.05 })],
    ["a text so short that the first token is most of it", { ...heads({ sink_mass: 0.9 }), parameters: { attention: { length: 4 } } }],
    ["the row of a layer", { rows: { attention: [attention_layer(0, 3, { sink_mass: 0.9 })] } }],
  ])("is silent of %s", (_, made) => expect(said(attention_sink_heads, made as Made)).toBeUndefined());
});

describe("previous-token heads", () => {
  test("counts heads, one as one", () => {
    expect(said(previous_token_heads, heads({ previous_token: 0.98 }, {}))).toBe(
      "1 of 2 heads looks one back At least half of its attention is on the token before, and 98 % in layer 3 head 0. Even " +
        "attention gives it 4.2 %.",
    );
  });

  test.each([
    ["a quarter of the attention", heads({ previous_token: 0.25 })],
    ["one token, which has none before", { ...heads({ previous_token: null }), parameters: { attention: { length: 1 } } }],
    ["two tokens, where it is half of all", { ...heads({ previous_token: 0.9 }), parameters: { attention: { length: 2 } } }],
  ])("is silent of %s", (_, made) => expect(said(previous_token_heads, made as Made)).toBeUndefined());
});

describe("induction heads", () => {
  const induction = (...values: number[]): Made => ({
    rows: { induction: values.map((value, head) => ({ layer: 4, head, induction: value, induction_error: 0.01, uniform_induction: 0.014 })) },
  });

  test("says what even attention gives, of blocks half as long as the text", () => {
    expect(said(induction_heads, induction(0.61, 0.02))).toBe(
      "1 of 2 heads does induction Where random tokens repeat, at least a quarter of its attention is on what followed the time " +
        "before, and 61 % in layer 4 head 0. Even attention gives it 1.4 %.",
    );
  });

  test.each([
    ["scores near those of even attention", induction(0.03, 0.02)],
    ["a quarter, but for the error", induction(0.26)],
    ["blocks so short that it is the token before", { ...induction(0.9), parameters: { induction: { length: 4 } } }],
    ["an encoder, which sees what follows", { ...induction(0.9), model: { causal: false } }],
    ["no induction", {}],
  ])("is silent of %s", (_, made) => expect(said(induction_heads, made as Made)).toBeUndefined());
});
