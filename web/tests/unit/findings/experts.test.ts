// Findings about MoE models.
import { describe, expect, test } from "vitest";
import { dead_experts } from "../../../src/findings/dead_experts";
import { similar_experts } from "../../../src/findings/similar_experts";
import { experts_shared_subspace } from "../../../src/findings/experts_shared_subspace";
import { said, type Made } from "./made_readings";

const routed = (load: number[], tokens: number, chosen = 2): Made => ({
  rows: { routing: [{ layer: 3, experts: load.length, experts_per_token: chosen, tokens, load }] },
});

describe("unused experts", () => {
  test("counts experts that a long text does not reach", () => {
    expect(said(dead_experts, routed([0.5, 0.25, 0.25, 0], 100))).toBe(
      "1 of 4 experts receives no tokens Text of 100 tokens; affected: layer 3. Most in one layer: 1 (layer 3). Balanced routing would " +
        "reach every expert.",
    );
  });

  test.each([
    ["a text so short that some experts are unused by chance", routed([0.5, 0.25, 0.25, 0], 10)],
    ["many experts, some unused by chance", routed([0, ...Array.from({ length: 127 }, () => 1 / 127)], 512, 1)],
    ["experts that are all used, some rarely", routed([0.9, 0.05, 0.049, 0.001], 1000)],
    ["no text", {}],
  ] as [string, Made][])("not shown for %s", (_, made) => expect(said(dead_experts, made)).toBeUndefined());
});

const alike = (most: number, mean: number, more: object = {}): Made => ({
  rows: {
    experts: [
      { layer: 2, matrix: "up", experts: 8, shape: [128, 64], energy_rank: {}, random_energy_rank: {}, single_energy_rank: null,
        mean_similarity: mean, most_similarity: most, random_similarity: 0.2, ...more }, // prettier-ignore
    ],
  },
});

describe("similar experts", () => {
  test("shows the similarity, the mean and the random baseline", () => {
    expect(said(similar_experts, alike(0.98, 0.3))).toBe(
      "0.98 similarity between two experts of layer 2 in the MLP up matrix, independent of neuron order (identical: 1). Mean over pairs: " +
        "0.3, random: 0.2.",
    );
  });

  test.each([
    ["a moderately similar pair", alike(0.7, 0.3)],
    ["experts that are all similar", alike(0.95, 0.93)],
    ["three experts", alike(0.98, 0.3, { experts: 3 })],
    ["the rows of a router", alike(0.98, 0.3, { matrix: "router" })],
    ["wide experts with a high random baseline", alike(0.95, 0.93, { random_similarity: 0.93 })],
  ] as [string, Made][])("not shown for %s", (_, made) => expect(said(similar_experts, made)).toBeUndefined());
});

const space = (stacked: number, single: number, random: number, more: object = {}): Made =>
  alike(0.4, 0.3, {
    energy_rank: { "0.9": stacked },
    single_energy_rank: { "0.9": single },
    random_energy_rank: { "0.9": random },
    ...more,
  });

describe("shared subspace of experts", () => {
  test("shows the rank of all experts, of one and of random experts", () => {
    expect(said(experts_shared_subspace, space(12, 9, 50))).toBe(
      "12 of 64 directions hold 90% of the energy of the MLP up matrix, stacked over the 8 experts of layer 2: all experts read from " +
        "nearly the same subspace. One expert: 9, random experts stacked: 50.",
    );
  });

  test("describes the output side for down", () => {
    expect(said(experts_shared_subspace, space(12, 9, 50, { matrix: "down" }))).toContain("all experts write to nearly the same subspace");
  });

  test.each([
    ["experts with separate subspaces", space(48, 9, 50)],
    ["experts that fill the residual stream", space(42, 40, 50)],
    ["a router", space(12, 9, 50, { single_energy_rank: null })],
  ] as [string, Made][])("not shown for %s", (_, made) => expect(said(experts_shared_subspace, made)).toBeUndefined());
});
