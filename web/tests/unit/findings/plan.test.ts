// Findings about compressed models and changes from a base model.
import { describe, expect, test } from "vitest";
import { critical_layer } from "../../../src/findings/critical_layer";
import { small_adapter } from "../../../src/findings/small_adapter";
import { compressed_model } from "../../../src/findings/compressed_model";
import { said, type Made } from "./made_readings";

const form = (more: object) => ({
  method: "mlp",
  description: "MLP 512 → 384",
  parameters: 830,
  kv_cache_bytes_per_token: 100,
  relative_flops: 0.9,
  loss_increase: 0.02,
  loadable: true,
  ...more,
});
const menu = (rows: object[], parameters: object = {}): Made => ({
  model: { parameters: 1000, kv_cache_bytes_per_token: 100 },
  rows: { plan: rows },
  parameters: { plan: { eval_windows: 90, eval_sequences: 32, length: 256, ...parameters } },
});

describe("a compressed model", () => {
  test("is the one that saves most at a small cost", () => {
    expect(said(compressed_model, menu([form({}), form({ method: "hidden-size", description: "192 → 174", parameters: 890 })]))).toBe(
      "17% fewer parameters for +2.0% perplexity on the evaluation text. Method: mlp, MLP 512 → 384, without retraining. The model " +
        "loads in stock transformers.",
    );
    expect(
      said(
        compressed_model,
        menu([form({ method: "mla", description: "32 + 32", parameters: 1090, kv_cache_bytes_per_token: 50, relative_flops: 4.5 })]),
      ),
    ).toMatch(/^50% less KV cache for .*loads in stock transformers\. Generating a token takes 450% of the original FLOPs\.$/);
  });

  test.each([
    ["methods without support in stock runtimes", menu([form({ loadable: false })])],
    ["high costs", menu([form({ loss_increase: 0.06 })])],
    ["small savings", menu([form({ parameters: 910 })])],
    ["a short evaluation text", menu([form({})], { eval_windows: 3, length: 64 })],
    ["reports without a plan", {}],
  ] as [string, Made][])("not shown for %s", (_, made) => expect(said(compressed_model, made)).toBeUndefined());
});

const removals = (losses: (number | null)[]): Made => ({
  rows: { plan_layers: losses.map((loss, layer) => ({ layer, loss_increase: loss })) },
});

describe("a critical layer", () => {
  test("costs far more than the others", () => {
    expect(said(critical_layer, removals([4.2, 0.37, 0.08, 0.17]))).toBe(
      "× 67 perplexity when only layer 0 is removed (median of the other layers: × 1.19).",
    );
  });

  test.each([
    ["similar losses", removals([1.2, 1.1, 1.3, 0.9])],
    ["a small loss", removals([0.5, 0.01, 0.01, 0.02])],
    ["two layers", removals([4, 0.1])],
    ["no measurements", removals([null, null, null])],
  ] as [string, Made][])("not shown for %s", (_, made) => expect(said(critical_layer, made)).toBeUndefined());
});

const change = (rank: number, more: object = {}) => ({
  layer: 0,
  matrix: "q",
  head: null,
  shape: [100, 100],
  change_norm: 1,
  energy_rank: { "0.9": rank },
  random_energy_rank: { "0.9": 40 },
  ...more,
});

describe("a small adapter", () => {
  test("is much smaller than for a random change", () => {
    expect(said(small_adapter, { rows: { diff: [change(5), change(5, { layer: 1 })] } })).toBe(
      "10% relative adapter size LoRA factors of this size hold 90% of the energy of the change from the base model (random change: 80%).",
    );
  });

  test.each([
    ["random changes", { rows: { diff: [change(35)] } }],
    ["slightly more than half of the random size", { rows: { diff: [change(21)] } }],
    ["unchanged matrices", { rows: { diff: [change(0, { change_norm: 0 })] } }],
    ["heads alone", { rows: { diff: [change(2, { head: 0 })] } }],
    ["no comparison", {}],
  ] as [string, Made][])("not shown for %s", (_, made) => expect(said(small_adapter, made)).toBeUndefined());
});
