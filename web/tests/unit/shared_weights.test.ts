// Layers with shared weights are counted once, as in ALBERT.
import { describe, expect, test } from "vitest";
import type { Model } from "../../src/data/report_file";
import { distinct } from "../../src/data/shared_weights";
import { copying_heads } from "../../src/findings/copying_heads";
import { duplicate_heads } from "../../src/findings/duplicate_heads";
import { model_like_random } from "../../src/findings/model_like_random";
import { symmetric_heads } from "../../src/findings/symmetric_heads";
import { circuit, kModel, said, spectrum } from "./findings/made_readings";

const kAll = ["q", "k", "v", "o", "up", "down", "qk", "ov", "kv"];
const model = (...shared: { matrices: string[]; layers: number[] }[]): Model => ({
  ...kModel,
  layers: 4,
  ...(shared.length > 0 ? { shared_weights: shared } : {}),
});
const rows = (matrix: string, layers: number[]) => layers.flatMap((layer) => [null, 0, 1].map((head) => ({ layer, matrix, head })));
const layers_of = (found: { layer: number }[]) => [...new Set(found.map((row) => row.layer))];

describe("distinct rows", () => {
  test("are all rows if nothing is shared", () => expect(distinct(model(), rows("q", [0, 1, 2, 3]))).toHaveLength(12));

  test("are those of the first layer that shares a matrix", () => {
    const albert = model({ matrices: kAll, layers: [0, 1, 2, 3] });
    expect(distinct(albert, rows("q", [0, 1, 2, 3]))).toEqual(rows("q", [0]));
    // In a report without layers 0 and 1, the first layer is 2.
    expect(layers_of(distinct(albert, rows("q", [2, 3])))).toEqual([2]);
  });

  test("depend on which matrices and layers are shared", () => {
    const partly = model({ matrices: ["q", "k", "qk"], layers: [0, 2] }, { matrices: ["v"], layers: [1, 3] });
    expect(layers_of(distinct(partly, rows("q", [0, 1, 2, 3])))).toEqual([0, 1, 3]);
    expect(layers_of(distinct(partly, rows("v", [0, 1, 2, 3])))).toEqual([0, 1, 2]);
    expect(layers_of(distinct(partly, rows("o", [0, 1, 2, 3])))).toEqual([0, 1, 2, 3]);
    // Heads are shared only if all their matrices are.
    expect(layers_of(distinct(partly, rows("q", [0, 1, 2, 3]), ["q", "k", "v"]))).toEqual([0, 1, 2, 3]);
    expect(layers_of(distinct(partly, rows("q", [0, 1, 2, 3]), ["q", "k"]))).toEqual([0, 1, 3]);
  });
});

describe("findings", () => {
  const albert = model({ matrices: kAll, layers: [0, 1, 2, 3] });
  const in_each_layer = (row: (layer: number) => object[]) => [0, 1, 2, 3].flatMap(row);

  test("count a shared head once", () => {
    const copies = in_each_layer((layer) => [
      circuit(layer, "ov", 0, { copying_score: 0.9 }),
      circuit(layer, "ov", 1, { copying_score: 0.1 }),
    ]);
    expect(said(copying_heads, { model: albert, rows: { circuits: copies } })).toMatch(/^1 of 2 heads/);
    expect(said(copying_heads, { model: model(), rows: { circuits: copies } })).toMatch(/^4 of 8 heads/);
    const alike = in_each_layer((layer) => [circuit(layer, "qk", 0, { symmetry: 0.9 }), circuit(layer, "qk", 1, { symmetry: 0.1 })]);
    expect(said(symmetric_heads, { model: albert, rows: { circuits: alike } })).toMatch(/^1 of 2 heads/);
    expect(said(symmetric_heads, { model: model(), rows: { circuits: alike } })).toMatch(/^4 of 8 heads/);
  });

  test("count shared matrices and pairs of heads once", () => {
    const made = { model: albert, rows: { spectrum: in_each_layer((layer) => [spectrum(layer, "q", 40)]) } };
    expect(said(model_like_random, made)).toContain("over 2 ranks");
    const overlap = in_each_layer((layer) =>
      ["q", "k", "v"].map((matrix) => ({
        layer,
        matrix,
        ranks: [4, 4],
        overlap: [
          [1, 0.98],
          [0.98, 1],
        ],
      })),
    );
    expect(said(duplicate_heads, { model: { ...albert, heads: 2, kv_heads: 2 }, rows: { overlap } })).not.toMatch(/more such/);
    expect(said(duplicate_heads, { model: { ...model(), heads: 2, kv_heads: 2 }, rows: { overlap } })).toMatch(/3 more such pairs/);
  });
});
