// Findings about matrices: spectra, latents, tails.
import { describe, expect, test } from "vitest";
import { low_rank_matrix } from "../../../src/findings/low_rank_matrix";
import { heavy_tails } from "../../../src/findings/heavy_tails";
import { kv_latent } from "../../../src/findings/kv_latent";
import { matrix_like_random } from "../../../src/findings/matrix_like_random";
import { model_like_random } from "../../../src/findings/model_like_random";
import { weight_rank_by_depth } from "../../../src/findings/weight_rank_by_depth";
import { zero_heads, zero_matrices } from "../../../src/findings/zero_matrices";
import { circuit, said, spectrum, type Made } from "./made_readings";

const spectra = (...rows: object[]): Made => ({ rows: { spectrum: rows } });
const ranks = (matrix: string, values: number[], null_rank = 40) => values.map((rank, layer) => spectrum(layer, matrix, rank, null_rank));

describe("low-rank matrix", () => {
  test("shows the matrix furthest below its random rank, not the lowest rank", () => {
    const made = spectra(spectrum(0, "qk", 24, 40), spectrum(1, "q", 22, 30), spectrum(2, "o", 39, 40));
    expect(said(low_rank_matrix, made)).toBe("24 of 64 directions hold 90% of the energy of the QK circuit in layer 0 (random: 40).");
  });

  test.each([
    ["ranks near random", spectra(spectrum(0, "q", 37), spectrum(1, "q", 41))],
    ["a difference of only two directions", spectra(spectrum(0, "q", 14, 16))],
    ["a zero matrix, whose rank is 0", spectra(spectrum(0, "q", 0, 40, { frobenius_norm: 0 }))],
    ["small matrices", spectra(spectrum(0, "q", 1, 7, { max_possible_rank: 8 }))],
    ["the rank of a head", spectra(spectrum(0, "q", 4, 40, { head: 2 }))],
    ["a threshold that was not computed", { ...spectra(spectrum(0, "q", 4)), threshold: 0.99 }],
    ["a missing baseline", spectra(spectrum(0, "qk", 4, 40, { random_energy_rank: { "0.9": null } }))],
    ["another model's rows", spectra({ ...spectrum(0, "q", 4), model: "other" })],
    ["no spectra", {}],
  ])("not shown for %s", (_, made) => expect(said(low_rank_matrix, made as Made)).toBeUndefined());
});

describe("a matrix like random", () => {
  const nulls = { random_singular_values: { at: 0, length: 1, scale: 1 } };
  const layers = (last: object, rank = 40) => ({
    ...spectra(spectrum(0, "o", 30, 40, nulls), spectrum(1, "o", 33, 40, nulls), spectrum(2, "o", rank, 40, { ...nulls, ...last })),
    values: [1],
  });

  test("shows the layer that differs from the others", () => {
    expect(said(matrix_like_random, layers({}))).toBe(
      "40 of 64 directions hold 90% of the energy of W_O in layer 2: its singular values match a random matrix (rank 40). Highest " +
        "rank in the other layers: 33.",
    );
  });

  test.each([
    ["a rank that agrees at one threshold only", layers({ energy_rank: { "0.5": 6, "0.9": 40 } })],
    ["one large singular value", layers({ spectral_norm: 2 })],
    ["a layer similar to the others", layers({}, 35)],
    ["a model that is random throughout", { ...spectra(...[0, 1, 2].map((layer) => spectrum(layer, "o", 40, 40, nulls))), values: [1] }],
    ["too few layers to compare with", { ...spectra(spectrum(0, "o", 30, 40, nulls), spectrum(1, "o", 40, 40, nulls)), values: [1] }],
    ["a report without singular values", spectra(spectrum(0, "o", 30), spectrum(1, "o", 33), spectrum(2, "o", 40))],
  ])("not shown for %s", (_, made) => expect(said(matrix_like_random, made as Made)).toBeUndefined());
});

describe("weight rank by depth", () => {
  test("shows the direction of the trend", () => {
    expect(said(weight_rank_by_depth, spectra(...ranks("ov", [24, 27, 29, 33, 36, 40])))).toBe(
      "24 → 40 directions from layer 0 to layer 5: the energy rank (90%) of the OV circuit rises with depth (random: 40 in every layer).",
    );
    expect(said(weight_rank_by_depth, spectra(...ranks("q", [40, 36, 33, 29, 27, 24])))).toContain("falls with depth");
  });

  test.each([
    ["ranks that fall and then rise", ranks("ov", [40, 30, 24, 28, 32, 36])],
    ["ranks that rise except in one layer", ranks("ov", [24, 30, 27, 33, 36, 40])],
    ["a small change", ranks("ov", [36, 37, 38, 39, 40, 41])],
    ["one different layer", ranks("ov", [24, 24, 24, 24, 24, 40])],
    ["a single step", ranks("ov", [40, 24, 24, 23, 22, 21])],
    ["three of six layers", ranks("ov", [24, 30, 40])],
    ["matrices of several shapes", [24, 27, 29, 33, 36, 40].map((rank, layer) => spectrum(layer, "ov", rank, 40 + layer))],
  ])("not shown for %s", (_, rows) => expect(said(weight_rank_by_depth, spectra(...rows))).toBeUndefined());
});

describe("a joint KV latent", () => {
  const side = (energy: number | null, random_energy = 0.24, more: object = {}) => ({
    kv: {
      max_possible_rank: 64,
      rank: 512,
      energy: 1,
      random_energy: 1,
      share_rank: 6,
      share_energy: energy,
      share_random_energy: random_energy,
      ...more,
    },
  });
  const mla = (...rows: object[]): Made => ({ rows: { mla: rows.map((row, layer) => ({ layer, ...row })) } });

  test("shows the energy of the worst layer, not rounded up", () => {
    expect(said(kv_latent, mla(side(0.7), side(0.659)))).toBe(
      "65% energy kept by a joint KV latent of rank 6 in layer 1, the worst layer (random: 24%).",
    );
  });

  test("uses the usual latent rank if it is below the maximum", () => {
    const wide = { max_possible_rank: 1024, energy: 0.912, random_energy: 0.7 };
    expect(said(kv_latent, mla(side(0.3, 0.24, wide)))).toContain("91% energy kept by a joint KV latent of rank 512");
  });

  test.each([
    ["energies near random", mla(side(0.7), side(0.26))],
    ["a full-rank latent", mla(side(1, 1, { max_possible_rank: 6 }))],
    ["a zero matrix in a layer", mla(side(0.7), side(null))],
    ["no layers", mla()],
  ])("not shown for %s", (_, made) => expect(said(kv_latent, made)).toBeUndefined());
});

describe("heavy tails", () => {
  const row = (excess_kurtosis: number | null, more: object = {}) => ({
    layer: 2,
    matrix: "down",
    head: null,
    count: 4096,
    mean: 0,
    std: 0.1,
    min: -1,
    max: 3,
    excess_kurtosis,
    ...more,
  });
  const weights = (...rows: object[]): Made => ({ rows: { weights: rows } });

  test("shows the matrix with the highest kurtosis and its farthest weight", () => {
    expect(said(heavy_tails, weights(row(4, { layer: 0 }), row(161.6)))).toBe(
      "162 excess kurtosis in the MLP down matrix of layer 2. The weight farthest from the mean is 30 standard deviations away. Gaussian " +
        "weights: excess kurtosis 0, farthest about 4.08.",
    );
  });

  test.each([
    ["tails usual for trained weights", weights(row(1.4))],
    ["tails lighter than a Gaussian's", weights(row(-1.2))],
    ["few weights", weights(row(9, { count: 64 }))],
    ["rows with different norms, without outlier weights", weights(row(4, { min: -0.4, max: 0.4 }))],
    ["one head", weights(row(9, { head: 0 }))],
    ["a constant matrix", weights(row(null, { std: 0 }))],
  ])("not shown for %s", (_, made) => expect(said(heavy_tails, made)).toBeUndefined());
});

describe("a model like random", () => {
  test("shows the maximum difference, not rounded down", () => {
    expect(said(model_like_random, spectra(spectrum(0, "q", 40), spectrum(1, "q", 41)))).toBe(
      "2.5% maximum difference from random between the energy ranks of whole matrices and those of random matrices (a difference of 1 " +
        "from rank 40), over 4 " +
        "ranks. No other measure stands out.",
    );
  });

  test("counts skipped matrices", () => {
    const small = (matrix: string) => spectrum(0, matrix, 6, 8, { max_possible_rank: 8 });
    expect(said(model_like_random, spectra(spectrum(0, "q", 5, 6), small("k"), small("v")))).toBe(
      "16.7% maximum difference from random between the energy ranks of whole matrices and those of random matrices (a difference of 1 " +
        "from rank 6), over 2 " +
        "ranks. Skipped: 2 matrices with fewer than 16 directions, too few for a comparison with a random matrix. No other measure " +
        "stands out.",
    );
    expect(said(model_like_random, spectra(spectrum(0, "q", 40), small("k")))).toContain("Skipped: 1 matrix with fewer than 16 directions");
    expect(said(model_like_random, spectra(small("k"), small("v")))).toBe(
      "0 of 2 matrices compared All have fewer than 16 directions, too few for a comparison with a random matrix. No other measure " +
        "stands out.",
    );
  });

  test.each([
    ["one matrix with structure among many", spectra(...ranks("q", [40, 40, 40, 40, 40, 30]))],
    ["ranks above random, as for orthogonal matrices", spectra(spectrum(0, "q", 57))],
    ["no spectra", {}],
  ])("not shown for %s", (_, made) => expect(said(model_like_random, made as Made)).toBeUndefined());
});

describe("all-zero weights", () => {
  const zero = { frobenius_norm: 0, energy_rank: { "0.9": 0 } };

  test("lists the matrices, not their products", () => {
    expect(
      said(
        zero_matrices,
        spectra(spectrum(0, "q", 0, 25, zero), spectrum(1, "q", 24, 25), spectrum(0, "k", 24, 25), spectrum(0, "qk", 0, 25, zero)),
      ),
    ).toBe("1 of 3 matrices is all zero W_Q of layer 0: rank 0 (random: 25).");
    expect(
      said(zero_matrices, spectra(...[2, 1, 4].map((layer) => spectrum(layer, "o", 0, 25, zero)), spectrum(4, "down", 0, 25, zero))),
    ).toBe("4 of 4 matrices are all zero W_O of layers 1, 2 and 4 and the MLP down matrix of layer 4: rank 0.");
  });

  test("heads of layers that are not all zero", () => {
    const rows = [
      circuit(0, "ov", null, { frobenius_norm: 1 }),
      ...[0, 1, 2, 3].map((head) => circuit(0, "ov", head, { frobenius_norm: head % 2 })),
      circuit(1, "ov", null, { frobenius_norm: 0 }),
      circuit(1, "ov", 0, { frobenius_norm: 0 }),
    ];
    expect(said(zero_heads, { rows: { circuits: rows } })).toBe("2 of 5 head circuits are all zero OV of L0H0 and OV of L0H2: rank 0.");
  });

  test.each([
    ["small weights", spectra(spectrum(0, "q", 24, 25, { frobenius_norm: 1e-30 }))],
    ["no spectra", {}],
  ])("not shown for %s", (_, made) => expect(said(zero_matrices, made as Made)).toBeUndefined());
});
