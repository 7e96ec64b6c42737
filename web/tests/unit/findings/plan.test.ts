// Sentences about smaller models, and about what a fine-tune changed.
import { describe, expect, test } from "vitest";
import { critical_layer } from "../../../src/findings/critical_layer";
import { small_adapter } from "../../../src/findings/small_adapter";
import { compressed_model } from "../../../src/findings/compressed_model";
import { said, type Made } from "./made_readings";

const form = (more: object) => ({
  form: "width",
  choice: "MLP 512 → 384",
  parameters: 830,
  kv_cache_bytes_per_token: 100,
  work: 0.9,
  loss: 0.02,
  loadable: true,
  ...more,
});
const menu = (rows: object[], parameters: object = {}): Made => ({
  model: { parameters: 1000, kv_cache_bytes_per_token: 100 },
  rows: { plan: rows },
  parameters: { plan: { eval_windows: 90, eval_sequences: 32, length: 256, ...parameters } },
});

describe("a smaller model", () => {
  test("is the form that saves most for little", () => {
    expect(said(compressed_model, menu([form({}), form({ form: "hidden", choice: "192 → 174", parameters: 890 })]))).toBe(
      "17 % fewer parameters can be had for a perplexity of +2.0 % on held-out text: width, MLP 512 → 384, measured; stock " +
        "transformers loads it; nothing was trained anew.",
    );
    expect(
      said(
        compressed_model,
        menu([form({ form: "latent", choice: "32 + 32", parameters: 1090, kv_cache_bytes_per_token: 50, work: 4.5 })]),
      ),
    ).toMatch(/^50 % less KV cache can be had for .*loads it, and takes 450 % of the work to generate a token; nothing/);
  });

  test.each([
    ["forms that stock runtimes do not load", menu([form({ loadable: false })])],
    ["forms that cost much", menu([form({ loss: 0.06 })])],
    ["forms that save little", menu([form({ parameters: 910 })])],
    ["perplexities of few tokens", menu([form({})], { eval_windows: 3, length: 64 })],
    ["reports without a plan", {}],
  ] as [string, Made][])("is silent of %s", (_, made) => expect(said(compressed_model, made)).toBeUndefined());
});

const removals = (losses: (number | null)[]): Made => ({ rows: { plan_layers: losses.map((loss, layer) => ({ layer, loss })) } });

describe("a needed layer", () => {
  test("is one that costs far more than the others", () => {
    expect(said(critical_layer, removals([4.2, 0.37, 0.08, 0.17]))).toBe(
      "× 67 perplexity without layer 0 alone; without another one, × 1.19 in the median.",
    );
  });

  test.each([
    ["losses that are alike", removals([1.2, 1.1, 1.3, 0.9])],
    ["a loss that is small", removals([0.5, 0.01, 0.01, 0.02])],
    ["two layers", removals([4, 0.1])],
    ["no measurements", removals([null, null, null])],
  ] as [string, Made][])("is silent of %s", (_, made) => expect(said(critical_layer, made)).toBeUndefined());
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
  test("is far below what random changes need", () => {
    expect(said(small_adapter, { rows: { diff: [change(5), change(5, { layer: 1 })] } })).toBe(
      "10 % of the changed matrices' size hold 90 % of the energy of what was changed since the base, as LoRA factors; random " +
        "changes would take 80 %.",
    );
  });

  test.each([
    ["changes as random ones", { rows: { diff: [change(35)] } }],
    ["just above half of that", { rows: { diff: [change(21)] } }],
    ["matrices that did not change", { rows: { diff: [change(0, { change_norm: 0 })] } }],
    ["heads alone", { rows: { diff: [change(2, { head: 0 })] } }],
    ["no comparison", {}],
  ] as [string, Made][])("is silent of %s", (_, made) => expect(said(small_adapter, made)).toBeUndefined());
});
