// Findings about activations on a text.
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
  test("show the weakest head and the median head", () => {
    expect(said(dead_heads, heads(0.08, 0.1, 6e-6, 0.12))).toBe(
      "1 of 4 heads is nearly dead Weakest: L2H2. Its output has 0.0006% of the norm of the residual stream (median head: 10%).",
    );
    expect(said(dead_heads, heads(0, 0.1, 6e-6, 0.12, 0.09))).toMatch(/^2 of 5 heads are nearly dead Weakest: L2H0\. Its output has 0% of/);
  });

  test.each([
    ["a weak head", heads(0.08, 0.1, 0.002, 0.12)],
    ["a head within 2 standard errors", heads(0.08, 0.1, [0.0008, 0.0005], 0.12)],
    ["a short text", { ...heads(0.08, 0.1, 6e-6, 0.12), parameters: { attention: { length: 8 } } }],
    ["external maps", heads(null, null, null)],
    ["heads with zero output only", heads(0, 0, 0)],
  ])("not shown for %s", (_, made) => expect(said(dead_heads, made as Made)).toBeUndefined());
});

const layers = (...more: object[]): Made => ({ rows: { attention: more.map((each, layer) => attention_layer(layer, 30, each)) } });
const activation = (max_activation: number, activation_ratio: number | null) => ({
  max_activation,
  activation_ratio,
  activation_dimension: 7,
  activation_position: 0,
});

describe("massive activations", () => {
  test("show position and layers", () => {
    expect(said(massive_activations, layers(activation(5, 6), activation(400, 800), activation(410, 700)))).toBe(
      "400 massive activation in the residual stream after layer 1, dimension 7, position 0: 800 times the median magnitude (Gaussian " +
        "activations: about 6.2). Layers with massive activations: 1 and 2.",
    );
    expect(said(massive_activations, layers(activation(5, 6), activation(400, 800)))).toMatch(/No other layer has one\.$/);
  });

  test.each([
    ["a small ratio to the median", layers(activation(400, 20))],
    ["small activations with a large ratio", layers(activation(40, 800))],
    ["a median of 0", layers(activation(400, null))],
    ["cross-attention", layers({ max_activation: null, activation_ratio: null })],
    ["a short text", { ...layers(activation(400, 800)), parameters: { attention: { length: 8 } } }],
  ])("not shown for %s", (_, made) => expect(said(massive_activations, made as Made)).toBeUndefined());
});

const outliers = (...lists: (number[] | null)[]): Made =>
  layers(...lists.map((list) => ({ outlier_count: list?.length ?? null, outlier_dimensions: list })));

describe("outlier dimensions", () => {
  test("qualify in a quarter of the layers, most frequent first", () => {
    expect(said(outlier_dimensions, outliers([], [7, 3], [3], [3, 9], [], []))).toBe(
      "1 outlier dimension Dimension 3: magnitude of at least 6 at 6% of the positions of the attention input. Most frequent: " +
        "dimension 3, in 3 of 6 layers. Gaussian activations with unit variance: none.",
    );
    expect(said(outlier_dimensions, { ...outliers([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]), model: { hidden_size: 200 } })).toMatch(
      /^5 outlier dimensions Dimensions 1, 2, 3 and 2 more: /,
    );
  });

  test.each([
    ["one layer", outliers([3], [], [], [], [], [])],
    ["many dimensions", outliers([1, 2, 3, 4], [1, 2, 3, 4])],
    ["cross-attention", outliers(null, null)],
    ["a short text", { ...outliers([3], [3]), parameters: { attention: { length: 8 } } }],
  ])("not shown for %s", (_, made) => expect(said(outlier_dimensions, made as Made)).toBeUndefined());
});
