// Sentences about heads' weights: circuits, overlaps, composition.
import { describe, expect, test } from "vitest";
import { composition } from "../../../src/findings/composition";
import { copying_heads, copying_noise } from "../../../src/findings/copying_heads";
import { duplicate_heads } from "../../../src/findings/duplicate_heads";
import { identity_component } from "../../../src/findings/identity_component";
import { overlapping_heads } from "../../../src/findings/overlapping_heads";
import { symmetric_heads } from "../../../src/findings/symmetric_heads";
import { circuit, said, type Made } from "./made_readings";

const circuits = (...rows: object[]): Made => ({ rows: { circuits: rows } });
const scores = (name: string, kind: "qk" | "ov", values: (number | null)[], more: object = {}) =>
  circuits(...values.map((value, head) => circuit(1, kind, head, { [name]: value, ...more })));

describe("copying heads", () => {
  test("counts them, names the clearest and those that do the reverse", () => {
    expect(said(copying_heads, scores("copying_score", "ov", [0.91, 0.7, 0.1, -0.8]))).toBe(
      "2 of 4 heads have a mostly positive OV circuit Copying score above 0.5, clearest in layer 1 head 0 with +0.91. Against a " +
        "residual stream of plain embeddings they would raise the token read; " +
        "what happens on text the weights alone do not tell. 1 is mostly negative. Random heads stay within ±0.25.",
    );
  });

  test("speaks of negative ones where there are more", () => {
    const words = said(copying_heads, scores("copying_score", "ov", [-0.91, -0.7, 0.1, 0.8]));
    expect(words).toMatch(
      /^2 of 4 heads have a mostly negative OV circuit Copying score below −0\.5, clearest in layer 1 head 0 with −0\.91\. /,
    );
    expect(words).toMatch(/ they would lower the token read.* 1 is mostly positive/);
  });

  test("one head alone is said as one", () => {
    expect(said(copying_heads, { ...scores("copying_score", "ov", [0.9]), model: { heads: 1, kv_heads: 1 } })).toMatch(
      /^1 of 1 head has a mostly positive OV circuit .* it would raise the token read/,
    );
  });

  test("heads of few dimensions have large scores by chance", () => {
    expect(copying_noise(8, 40)).toBeGreaterThan(0.6);
    expect(said(copying_heads, { ...scores("copying_score", "ov", [0.58, 0.2, 0.1, -0.55]), model: { head_dim: 8 } })).toBeUndefined();
    expect(said(copying_heads, { ...scores("copying_score", "ov", [0.92, 0.2, 0.1, 0.58]), model: { head_dim: 8 } })).toMatch(
      /^1 of 4 heads has a mostly positive OV circuit Copying score above 0\.6,/,
    );
    expect(said(copying_heads, { ...scores("copying_score", "ov", [1, -1, 1, 1]), model: { head_dim: 1 } })).toBeUndefined();
  });

  test("so have circuits of few directions", () => {
    const row = (head: number, copying_score: number, rank: number) =>
      circuit(1, "ov", head, { copying_score, energy_rank: { "0.9": rank } });
    expect(said(copying_heads, circuits(row(0, 0.9, 12), row(1, 1, 1), row(2, -1, 1)))).toMatch(
      /^1 of 3 heads .* head 0 with \+0\.90\. [^.]*\. R/,
    );
  });

  test.each([
    ["scores below the cut", scores("copying_score", "ov", [0.4, -0.4, 0.3, 0])],
    ["scores that have no value", scores("copying_score", "ov", [null, null])],
    ["the sum over heads", circuits(circuit(0, "ov", null, { copying_score: 0.9 }))],
    ["the other circuit", scores("copying_score", "qk", [0.9, 0.9])],
    ["no circuits", {}],
  ])("is silent of %s", (_, made) => expect(said(copying_heads, made as Made)).toBeUndefined());
});

describe("symmetric heads", () => {
  test("says that it is positive only where it is", () => {
    expect(said(symmetric_heads, scores("symmetry", "qk", [0.73, 0.1]))).toBe(
      "1 of 2 heads is symmetric Its W_QᵀW_K scores two tokens alike both ways (symmetry above 0.5), clearest in layer 1 head 0 " +
        "with +0.73. Random heads stay within ±0.11.",
    );
    expect(said(symmetric_heads, { ...scores("symmetry", "qk", [0.73]), model: { rotary: true } })).toContain(
      "Its W_QᵀW_K of the rotary kernel at offset 0 scores two tokens",
    );
    expect(said(symmetric_heads, scores("symmetry", "qk", [0.73], { positive_fraction: 0.97 }))).toContain("nearly all of it positive");
    expect(said(symmetric_heads, scores("symmetry", "qk", [0.73], { positive_fraction: null }))).not.toContain("positive,");
  });

  test.each([
    ["antisymmetric heads", scores("symmetry", "qk", [-0.9, -0.8])],
    ["a little symmetry", scores("symmetry", "qk", [0.3, 0.4])],
    ["so small a width that chance reaches it", { ...scores("symmetry", "qk", [0.8]), model: { width: 8 } }],
    ["no values", scores("symmetry", "qk", [null])],
  ])("is silent of %s", (_, made) => expect(said(symmetric_heads, made as Made)).toBeUndefined());
});

describe("identity part", () => {
  const layers = (...cosines: (number | null)[]) =>
    circuits(...cosines.map((identity_cosine, layer) => circuit(layer, "qk", null, { identity_cosine })));

  test("says above or below", () => {
    expect(said(identity_component, layers(0.1, 0.3))).toBe(
      "+0.30 cosine with the identity is what W_QᵀW_K of layer 1 has, summed over heads: keys like the query score above the " +
        "others, before norms, positions and the softmax. Random numbers stay within ±0.06; the most there can be is 1.",
    );
    expect(said(identity_component, layers(0.1, -0.3))).toContain("keys like the query score below the others");
  });

  test("of rotary positions it is the kernel at an offset", () => {
    expect(said(identity_component, { ...layers(0.1, 0.3), model: { rotary: true } })).toContain(
      "summed over heads of the rotary kernel at offset 0: keys like",
    );
    expect(said(identity_component, { ...layers(0.1, 0.3), parameters: { circuits: { rope_offset: -1 } } })).toContain("at offset -1:");
  });

  test.each([
    ["small cosines", layers(0.1, -0.15)],
    ["a width at which chance reaches it", { ...layers(0.3), model: { width: 16 } }],
    ["no values", layers(null, null)],
    ["single heads", circuits(circuit(0, "qk", 0, { identity_cosine: 0.3 }))],
  ])("is silent of %s", (_, made) => expect(said(identity_component, made as Made)).toBeUndefined());
});

const square = (heads: number, pairs: Record<string, number>, rest: number | null = 0.1) =>
  Array.from({ length: heads }, (_, a) =>
    Array.from({ length: heads }, (_, b) => (a === b ? 1 : (pairs[`${Math.min(a, b)}-${Math.max(a, b)}`] ?? rest))),
  );
const overlap = (matrix: string, pairs: Record<string, number>, heads = 4, rank = 6) => ({
  layer: 2,
  matrix,
  overlap: square(heads, pairs),
  ranks: Array.from({ length: heads }, () => rank),
});
const overlaps = (...rows: object[]): Made => ({ rows: { overlap: rows } });

describe("duplicate heads", () => {
  const all = (value: number) => overlaps(overlap("q", { "1-3": value }), overlap("k", { "1-3": 0.98 }), overlap("v", { "1-3": 0.99 }));

  test("names the pair and the least of the three overlaps", () => {
    expect(said(duplicate_heads, all(0.97))).toBe(
      "0.97 overlap heads 1 and 3 of layer 2 read nearly the same: each of their query, key and value spaces overlaps at least " +
        "that much. Equal spaces have 1, chance gives 0.094.",
    );
  });

  test("query heads of a group share keys and values", () => {
    const grouped = overlaps(overlap("q", { "0-1": 0.95 }), overlap("k", {}, 2), overlap("v", {}, 2));
    expect(said(duplicate_heads, { ...grouped, model: { kv_heads: 2 } })).toContain("heads 0 and 1 of layer 2");
    const apart = overlaps(overlap("q", { "1-2": 0.95 }), overlap("k", {}, 2), overlap("v", {}, 2));
    expect(said(duplicate_heads, { ...apart, model: { kv_heads: 2 } })).toBeUndefined();
  });

  test("matrices that lie among the values are read there", () => {
    const packed = (matrix: string) => ({ ...overlap(matrix, {}), overlap: { at: 0, length: 16, shape: [4, 4] } });
    expect(
      said(duplicate_heads, {
        ...overlaps(packed("q"), packed("k"), packed("v")),
        values: square(4, { "0-2": 0.96 }, NaN).flat() as number[],
      }),
    ).toContain("heads 0 and 2");
  });

  test.each([
    ["one of three spaces apart", all(0.7)],
    ["a projection that is missing", overlaps(overlap("q", { "1-3": 0.97 }), overlap("k", { "1-3": 0.97 }))],
    [
      "heads that fill the width, which overlap by chance",
      overlaps(...["q", "k", "v"].map((matrix) => overlap(matrix, { "0-1": 1 }, 2, 60))),
    ],
    ["one head", { ...overlaps(...["q", "k", "v"].map((matrix) => overlap(matrix, {}, 1))), model: { heads: 1, kv_heads: 1 } }],
    [
      "zero heads, which have no overlap",
      overlaps(...["q", "k", "v"].map((matrix) => ({ ...overlap(matrix, {}), overlap: square(4, {}, null), ranks: [0, 0, 0, 0] }))),
    ],
  ])("is silent of %s", (_, made) => expect(said(duplicate_heads, made as Made)).toBeUndefined());
});

describe("a shared space", () => {
  test("names the projection, the heads and chance", () => {
    expect(said(overlapping_heads, overlaps(overlap("q", { "0-1": 0.3 }), overlap("k", { "1-3": 0.504 })))).toBe(
      "0.504 overlap is the most that two heads share of their W_K space: 1 and 3 of layer 2. Chance is 0.094, equal spaces have 1.",
    );
  });

  test("speaks of key heads where heads are grouped", () => {
    expect(said(overlapping_heads, { ...overlaps(overlap("k", { "0-1": 0.5 }, 2)), model: { kv_heads: 2 } })).toContain(
      "two key heads share",
    );
  });

  test("does not call it the most where duplicates have more", () => {
    expect(said(overlapping_heads, overlaps(overlap("k", { "1-3": 0.5, "0-2": 0.97 })))).toMatch(
      /is what, but for 1 pair that shares nearly all, two heads share/,
    );
  });

  test.each([
    ["overlaps near chance", overlaps(overlap("k", { "1-3": 0.2 }))],
    ["spaces that chance makes overlap", overlaps(overlap("k", { "0-1": 0.6 }, 2, 32))],
    ["one key head", { ...overlaps(overlap("k", {}, 1)), model: { kv_heads: 1 } }],
  ])("is silent of %s", (_, made) => expect(said(overlapping_heads, made as Made)).toBeUndefined());
});

describe("composition", () => {
  const pairs = (chance: number, ...values: (number | null)[]): Made => ({
    rows: {
      composition: values.map((score, head) => {
        return { kind: "v", layer: 0, head, receiver_layer: 1, receiver_head: 2, score, excess: score === null ? null : score - chance };
      }),
    },
  });

  test("names the two heads and what of the later one aligns", () => {
    expect(said(composition, pairs(0.072, 0.2, 0.426))).toBe(
      "0.426 V-composition of layer 0 head 1 with layer 1 head 2: of any two heads their weights align most, the later one's " +
        "values with what the earlier one writes. Whether they depend on it the weights alone do not tell. Random heads have 0.072.",
    );
  });

  test.each([
    ["scores near chance", pairs(0.072, 0.1)],
    ["a width at which chance is as large", pairs(0.18, 0.3)],
    ["zero heads", pairs(0.072, null)],
    ["one layer, which has no later one", pairs(0.072)],
  ])("is silent of %s", (_, made) => expect(said(composition, made as Made)).toBeUndefined());
});
