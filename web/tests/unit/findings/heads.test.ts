// Findings about head weights: circuits, overlaps, composition.
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
  test("shows the count, the strongest head and the opposite count", () => {
    expect(said(copying_heads, scores("copying_score", "ov", [0.91, 0.7, 0.1, -0.8]))).toBe(
      "2 of 4 heads have a mostly positive OV circuit Copying score above 0.5. Strongest: L1H0, +0.91 (random: ±0.25). 1 head is mostly " +
        "negative. On raw embeddings, they would raise the attended token's logit. Run with a text (--text) to measure the real effect.",
    );
  });

  test("reports negative heads if there are more of them", () => {
    const words = said(copying_heads, scores("copying_score", "ov", [-0.91, -0.7, 0.1, 0.8]));
    expect(words).toMatch(/^2 of 4 heads have a mostly negative OV circuit Copying score below −0\.5\. Strongest: L1H0, −0\.91 \(random: /);
    expect(words).toMatch(/ 1 head is mostly positive\. On raw embeddings, they would lower the attended token's logit/);
  });

  test("uses the singular for one head", () => {
    expect(said(copying_heads, { ...scores("copying_score", "ov", [0.9]), model: { heads: 1, kv_heads: 1 } })).toMatch(
      /^1 of 1 head has a mostly positive OV circuit .* it would raise the attended token's logit/,
    );
  });

  test("a small head dimension gives large scores by chance", () => {
    expect(copying_noise(8, 40)).toBeGreaterThan(0.6);
    expect(said(copying_heads, { ...scores("copying_score", "ov", [0.58, 0.2, 0.1, -0.55]), model: { head_dim: 8 } })).toBeUndefined();
    expect(said(copying_heads, { ...scores("copying_score", "ov", [0.92, 0.2, 0.1, 0.58]), model: { head_dim: 8 } })).toMatch(
      /^1 of 4 heads has a mostly positive OV circuit Copying score above 0\.6/,
    );
    expect(said(copying_heads, { ...scores("copying_score", "ov", [1, -1, 1, 1]), model: { head_dim: 1 } })).toBeUndefined();
  });

  test("a low rank gives large scores by chance", () => {
    const row = (head: number, copying_score: number, rank: number) =>
      circuit(1, "ov", head, { copying_score, energy_rank: { "0.9": rank } });
    expect(said(copying_heads, circuits(row(0, 0.9, 12), row(1, 1, 1), row(2, -1, 1)))).toMatch(
      /^1 of 3 heads .* L1H0, \+0\.90 \(random: ±0\.\d\d\)\. On raw/,
    );
  });

  test.each([
    ["scores below the cut", scores("copying_score", "ov", [0.4, -0.4, 0.3, 0])],
    ["missing scores", scores("copying_score", "ov", [null, null])],
    ["the sum over heads", circuits(circuit(0, "ov", null, { copying_score: 0.9 }))],
    ["the other circuit", scores("copying_score", "qk", [0.9, 0.9])],
    ["no circuits", {}],
  ])("not shown for %s", (_, made) => expect(said(copying_heads, made as Made)).toBeUndefined());
});

describe("symmetric heads", () => {
  test("mentions positive semidefiniteness only if it holds", () => {
    expect(said(symmetric_heads, scores("symmetry", "qk", [0.73, 0.1]))).toBe(
      "1 of 2 heads has a symmetric QK circuit Two tokens score each other similarly under W_QᵀW_K: symmetry above 0.5. Strongest: L1H0, " +
        "+0.73 (random: ±0.11).",
    );
    expect(said(symmetric_heads, { ...scores("symmetry", "qk", [0.73]), model: { rotary: true } })).toContain(
      "under W_QᵀW_K (RoPE at offset 0): symmetry",
    );
    expect(said(symmetric_heads, scores("symmetry", "qk", [0.73], { positive_fraction: 0.97 }))).toContain("nearly positive semidefinite");
    expect(said(symmetric_heads, scores("symmetry", "qk", [0.73], { positive_fraction: null }))).not.toContain("positive");
  });

  test.each([
    ["antisymmetric heads", scores("symmetry", "qk", [-0.9, -0.8])],
    ["low symmetry", scores("symmetry", "qk", [0.3, 0.4])],
    ["a small hidden size", { ...scores("symmetry", "qk", [0.8]), model: { hidden_size: 8 } }],
    ["no values", scores("symmetry", "qk", [null])],
  ])("not shown for %s", (_, made) => expect(said(symmetric_heads, made as Made)).toBeUndefined());
});

describe("identity component", () => {
  const layers = (...cosines: (number | null)[]) =>
    circuits(...cosines.map((identity_cosine, layer) => circuit(layer, "qk", null, { identity_cosine })));

  test("shows the sign", () => {
    expect(said(identity_component, layers(0.1, 0.3))).toBe(
      "+0.30 cosine with the identity W_QᵀW_K of layer 1, summed over heads: keys similar to the query get higher scores, before norms, " +
        "positions and softmax. Random matrices: within ±0.06. Maximum possible: 1.",
    );
    expect(said(identity_component, layers(0.1, -0.3))).toContain("keys similar to the query get lower scores");
  });

  test("mentions the offset for RoPE", () => {
    expect(said(identity_component, { ...layers(0.1, 0.3), model: { rotary: true } })).toContain(
      "summed over heads (RoPE at offset 0): keys similar",
    );
    expect(said(identity_component, { ...layers(0.1, 0.3), parameters: { circuits: { rope_offset: -1 } } })).toContain("at offset -1):");
  });

  test.each([
    ["small cosines", layers(0.1, -0.15)],
    ["a small hidden size", { ...layers(0.3), model: { hidden_size: 16 } }],
    ["no values", layers(null, null)],
    ["single heads", circuits(circuit(0, "qk", 0, { identity_cosine: 0.3 }))],
  ])("not shown for %s", (_, made) => expect(said(identity_component, made as Made)).toBeUndefined());
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

  test("shows the pair and the lowest of the three overlaps", () => {
    expect(said(duplicate_heads, all(0.97))).toBe(
      "0.97 overlap Heads L2H1 and L2H3 read from nearly the same subspaces. Their query, key and value subspaces each overlap at least " +
        "this much (identical: 1, random: 0.094).",
    );
  });

  test("query heads of a group share keys and values", () => {
    const grouped = overlaps(overlap("q", { "0-1": 0.95 }), overlap("k", {}, 2), overlap("v", {}, 2));
    expect(said(duplicate_heads, { ...grouped, model: { kv_heads: 2 } })).toContain("Heads L2H0 and L2H1 read");
    const apart = overlaps(overlap("q", { "1-2": 0.95 }), overlap("k", {}, 2), overlap("v", {}, 2));
    expect(said(duplicate_heads, { ...apart, model: { kv_heads: 2 } })).toBeUndefined();
  });

  test("reads matrices from the values block", () => {
    const packed = (matrix: string) => ({ ...overlap(matrix, {}), overlap: { at: 0, length: 16, shape: [4, 4] } });
    expect(
      said(duplicate_heads, {
        ...overlaps(packed("q"), packed("k"), packed("v")),
        values: square(4, { "0-2": 0.96 }, NaN).flat() as number[],
      }),
    ).toContain("Heads L2H0 and L2H2 read");
  });

  test.each([
    ["a low overlap in one of three subspaces", all(0.7)],
    ["a missing projection", overlaps(overlap("q", { "1-3": 0.97 }), overlap("k", { "1-3": 0.97 }))],
    ["heads that fill the space and overlap by chance", overlaps(...["q", "k", "v"].map((matrix) => overlap(matrix, { "0-1": 1 }, 2, 60)))],
    ["one head", { ...overlaps(...["q", "k", "v"].map((matrix) => overlap(matrix, {}, 1))), model: { heads: 1, kv_heads: 1 } }],
    [
      "zero heads",
      overlaps(...["q", "k", "v"].map((matrix) => ({ ...overlap(matrix, {}), overlap: square(4, {}, null), ranks: [0, 0, 0, 0] }))),
    ],
  ])("not shown for %s", (_, made) => expect(said(duplicate_heads, made as Made)).toBeUndefined());
});

describe("overlapping heads", () => {
  test("shows the projection, the heads and the random baseline", () => {
    expect(said(overlapping_heads, overlaps(overlap("q", { "0-1": 0.3 }), overlap("k", { "1-3": 0.504 })))).toBe(
      "0.504 overlap between the W_K subspaces of L2H1 and L2H3, the highest of any pair (random: 0.094, identical: 1).",
    );
  });

  test("names KV heads in grouped-query attention", () => {
    expect(said(overlapping_heads, { ...overlaps(overlap("k", { "0-1": 0.5 }, 2)), model: { kv_heads: 2 } })).toContain(
      "subspaces of key heads 0 and 1 of layer 2",
    );
  });

  test("excludes near-duplicates", () => {
    expect(said(overlapping_heads, overlaps(overlap("k", { "1-3": 0.5, "0-2": 0.97 })))).toMatch(
      /the highest of any pair except 1 near-duplicate pair \(random/,
    );
  });

  test.each([
    ["overlaps near random", overlaps(overlap("k", { "1-3": 0.2 }))],
    ["subspaces that overlap by chance", overlaps(overlap("k", { "0-1": 0.6 }, 2, 32))],
    ["one key head", { ...overlaps(overlap("k", {}, 1)), model: { kv_heads: 1 } }],
  ])("not shown for %s", (_, made) => expect(said(overlapping_heads, made as Made)).toBeUndefined());
});

describe("composition", () => {
  const pairs = (chance: number, ...values: (number | null)[]): Made => ({
    rows: {
      composition: values.map((score, head) => {
        return { kind: "v", layer: 0, head, receiver_layer: 1, receiver_head: 2, score, excess: score === null ? null : score - chance };
      }),
    },
  });

  test("shows the two heads and the input of the later one", () => {
    expect(said(composition, pairs(0.072, 0.2, 0.426))).toBe(
      "0.426 V-composition of L0H1 with the values of L1H2, the highest composition score of any pair of heads (random: 0.072). The " +
        "score uses only weights. To test the dependence, run ablate --induction --receiver L1H2.",
    );
  });

  test.each([
    ["scores near random", pairs(0.072, 0.1)],
    ["a high random baseline", pairs(0.18, 0.3)],
    ["zero heads", pairs(0.072, null)],
    ["one layer", pairs(0.072)],
  ])("not shown for %s", (_, made) => expect(said(composition, made as Made)).toBeUndefined());
});
