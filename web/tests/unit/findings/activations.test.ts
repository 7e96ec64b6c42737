// Sentences about the activations of a model on a text.
import { describe, expect, test } from "vitest";
import { dead_heads } from "../../../src/findings/dead_heads";
import { massive_activations } from "../../../src/findings/massive_activations";
import { outlier_dimensions } from "../../../src/findings/outlier_dimensions";
import { attention_head, attention_layer, said, type Made } from "./made_readings";

const heads = (...ratios: (number | [number, number] | null)[]): Made => ({
  rows: {
    attention: ratios.map((each, head) => {
      const [output_ratio, output_ratio_error] = Array.isArray(each) ? each : [each, null];
      return attention_head(2, head, { output_ratio, output_ratio_error });
    }),
  },
});

describe("nearly dead heads", () => {
  test("are named with the median head", () => {
    expect(said(dead_heads, heads(0.08, 0.1, 6e-6, 0.12))).toBe(
      "1 of 4 heads is nearly dead The output of layer 2 head 2 has 0.0006 % of the norm of the residual stream (median head: 10 %).",
    );
    expect(said(dead_heads, heads(0, 0.1, 6e-6, 0.12, 0.09))).toMatch(
      /^2 of 5 heads are nearly dead Weakest: .* layer 2 head 0 has 0 % of/,
    );
  });

  test.each([
    ["a weak head", heads(0.08, 0.1, 0.002, 0.12)],
    ["what two errors reach", heads(0.08, 0.1, [0.0008, 0.0005], 0.12)],
    ["a short text", { ...heads(0.08, 0.1, 6e-6, 0.12), parameters: { attention: { length: 8 } } }],
    ["given maps", heads(null, null, null)],
    ["heads that all add nothing", heads(0, 0, 0)],
  ])("is silent of %s", (_, made) => expect(said(dead_heads, made as Made)).toBeUndefined());
});

const layers = (...more: object[]): Made => ({ rows: { attention: more.map((each, layer) => attention_layer(layer, 30, each)) } });
const activation = (max_activation: number, activation_ratio: number | null) => ({
  max_activation,
  activation_ratio,
  activation_dimension: 7,
  activation_position: 0,
});

describe("massive activations", () => {
  test("are named with their place and layers", () => {
    expect(said(massive_activations, layers(activation(5, 6), activation(400, 800), activation(410, 700)))).toBe(
      "400 is a massive activation of the residual stream after layer 1, in dimension 7 at position 0: 800 times the median magnitude. " +
        "Gaussian activations would reach about 6.2 times. There is one after layers 1 and 2.",
    );
    expect(said(massive_activations, layers(activation(5, 6), activation(400, 800)))).toMatch(/No other layer has one\.$/);
  });

  test.each([
    ["large activations among large ones", layers(activation(400, 20))],
    ["a large ratio of small activations", layers(activation(40, 800))],
    ["a median of 0", layers(activation(400, null))],
    ["cross-attention", layers({ max_activation: null, activation_ratio: null })],
    ["a short text", { ...layers(activation(400, 800)), parameters: { attention: { length: 8 } } }],
  ])("is silent of %s", (_, made) => expect(said(massive_activations, made as Made)).toBeUndefined());
});

const outliers = (...lists: (number[] | null)[]): Made =>
  layers(...lists.map((list) => ({ outlier_count: list?.length ?? null, outlier_dimensions: list })));

describe("outlier dimensions", () => {
  test("are those of a quarter of the layers, the most frequent first", () => {
    expect(said(outlier_dimensions, outliers([], [7, 3], [3], [3, 9], [], []))).toBe(
      "1 dimension is an outlier 3: a magnitude of at least 6 at 6 % of the positions, in what attention reads. Dimension 3 has it in " +
        "3 of 6 layers. Gaussian activations of unit variance have none.",
    );
    expect(said(outlier_dimensions, { ...outliers([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]), model: { width: 200 } })).toMatch(
      /^5 dimensions are outliers 1, 2, 3 and 2 more: /,
    );
  });

  test.each([
    ["one layer", outliers([3], [], [], [], [], [])],
    ["many dimensions, of which none stands out", outliers([1, 2, 3, 4], [1, 2, 3, 4])],
    ["cross-attention", outliers(null, null)],
    ["a short text", { ...outliers([3], [3]), parameters: { attention: { length: 8 } } }],
  ])("is silent of %s", (_, made) => expect(said(outlier_dimensions, made as Made)).toBeUndefined());
});
