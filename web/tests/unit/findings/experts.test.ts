// Sentences about mixtures of experts.
import { describe, expect, test } from "vitest";
import { dead_experts } from "../../../src/findings/dead_experts";
import { similar_experts } from "../../../src/findings/similar_experts";
import { experts_shared_subspace } from "../../../src/findings/experts_shared_subspace";
import { said, type Made } from "./made_readings";

const routed = (load: number[], tokens: number, chosen = 2): Made => ({
  rows: { routing: [{ layer: 3, experts: load.length, chosen, tokens, load }] },
});

describe("dead experts", () => {
  test("counts those that a long text never reaches", () => {
    expect(said(dead_experts, routed([0.5, 0.25, 0.25, 0], 100))).toBe(
      "1 of 4 experts is never chosen on the 100 tokens of the text, in layer 3; most, 1, in layer 3. Routers that chose evenly would " +
        "have reached every one.",
    );
  });

  test.each([
    ["a text so short that chance leaves some out", routed([0.5, 0.25, 0.25, 0], 10)],
    ["many experts and tokens that do not reach them all by chance", routed([0, ...Array.from({ length: 127 }, () => 1 / 127)], 512, 1)],
    ["experts that are all chosen, however seldom", routed([0.9, 0.05, 0.049, 0.001], 1000)],
    ["no text", {}],
  ] as [string, Made][])("is silent of %s", (_, made) => expect(said(dead_experts, made)).toBeUndefined());
});

const alike = (most: number, mean: number, more: object = {}): Made => ({
  rows: {
    experts: [
      { layer: 2, matrix: "up", experts: 8, shape: [128, 64], energy_rank: {}, random_energy_rank: {}, single_energy_rank: null,
        mean_similarity: mean, most_similarity: most, random_similarity: 0.2, ...more }, // prettier-ignore
    ],
  },
});

describe("twins among experts", () => {
  test("says how alike, and how alike others are", () => {
    expect(said(similar_experts, alike(0.98, 0.3))).toBe(
      "0.98 similarity have two experts of layer 2 in what the MLP's up does to the stream, whatever the order of their neurons; the " +
        "same has 1. Pairs there have 0.3 in the mean, random ones 0.2.",
    );
  });

  test.each([
    ["a pair that is alike at most", alike(0.7, 0.3)],
    ["experts that are all alike", alike(0.95, 0.93)],
    ["three experts", alike(0.98, 0.3, { experts: 3 })],
    ["the rows of a router", alike(0.98, 0.3, { matrix: "router" })],
    ["wide experts, of which random ones are alike", alike(0.95, 0.93, { random_similarity: 0.93 })],
  ] as [string, Made][])("is silent of %s", (_, made) => expect(said(similar_experts, made)).toBeUndefined());
});

const space = (stacked: number, single: number, random: number, more: object = {}): Made =>
  alike(0.4, 0.3, { energy_rank: { "0.9": stacked }, single_energy_rank: { "0.9": single }, random_energy_rank: { "0.9": random }, ...more });

describe("one space of experts", () => {
  test("says the rank of all, of one and of random ones", () => {
    expect(said(experts_shared_subspace, space(12, 9, 50))).toBe(
      "12 of 64 directions hold 0.9 of the energy of the MLP's up of 8 experts of layer 2 together: they read nearly one space. One of " +
        "them has 9, as many random ones 50.",
    );
  });

  test("says of down what is written", () => {
    expect(said(experts_shared_subspace, space(12, 9, 50, { matrix: "down" }))).toContain("they write to nearly one space");
  });

  test.each([
    ["experts of spaces of their own", space(48, 9, 50)],
    ["one expert that fills the stream itself", space(42, 40, 50)],
    ["a router, of which there is one", space(12, 9, 50, { single_energy_rank: null })],
  ] as [string, Made][])("is silent of %s", (_, made) => expect(said(experts_shared_subspace, made)).toBeUndefined());
});
