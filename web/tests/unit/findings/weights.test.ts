// Sentences about matrices: spectra, latents, tails.
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

describe("fewest directions", () => {
  test("names the matrix furthest below its null, not the least rank", () => {
    const made = spectra(spectrum(0, "qk", 24, 40), spectrum(1, "q", 22, 30), spectrum(2, "o", 39, 40));
    expect(said(low_rank_matrix, made)).toBe(
      "24 of 64 directions hold 90 % of the energy of the QK circuit in layer 0. Random numbers would need 40.",
    );
  });

  test.each([
    ["ranks near the null", spectra(spectrum(0, "q", 37), spectrum(1, "q", 41))],
    ["a tenth less, but two directions only", spectra(spectrum(0, "q", 14, 16))],
    ["a zero matrix, whose rank is 0", spectra(spectrum(0, "q", 0, 40, { frobenius_norm: 0 }))],
    ["matrices too small for a law of large ones", spectra(spectrum(0, "q", 1, 7, { max_possible_rank: 8 }))],
    ["a head's rank: other heads have theirs", spectra(spectrum(0, "q", 4, 40, { head: 2 }))],
    ["a threshold that was not computed", { ...spectra(spectrum(0, "q", 4)), threshold: 0.99 }],
    ["a null that is not given", spectra(spectrum(0, "qk", 4, 40, { random_energy_rank: { "0.9": null } }))],
    ["another model's rows", spectra({ ...spectrum(0, "q", 4), model: "other" })],
    ["no spectra", {}],
  ])("is silent of %s", (_, made) => expect(said(low_rank_matrix, made as Made)).toBeUndefined());
});

describe("nearly random", () => {
  const nulls = { random_singular_values: { at: 0, length: 1, scale: 1 } };
  const layers = (last: object, rank = 40) => ({
    ...spectra(spectrum(0, "o", 30, 40, nulls), spectrum(1, "o", 33, 40, nulls), spectrum(2, "o", rank, 40, { ...nulls, ...last })),
    values: [1],
  });

  test("tells the one that is from others that are not", () => {
    expect(said(matrix_like_random, layers({}))).toBe(
      "40 of 64 directions hold 90 % of the energy of W_O in layer 2: its singular values are like those of random numbers, " +
        "which would need 40. No other layer here needs more than 33.",
    );
  });

  test.each([
    ["a rank that agrees at one threshold only", layers({ energy_rank: { "0.5": 6, "0.9": 40 } })],
    ["one value that stands out of the bulk", layers({ spectral_norm: 2 })],
    ["a layer much like the others", layers({}, 35)],
    ["a model that is random throughout", { ...spectra(...[0, 1, 2].map((layer) => spectrum(layer, "o", 40, 40, nulls))), values: [1] }],
    ["too few layers to compare with", { ...spectra(spectrum(0, "o", 30, 40, nulls), spectrum(1, "o", 40, 40, nulls)), values: [1] }],
    ["a report without singular values", spectra(spectrum(0, "o", 30), spectrum(1, "o", 33), spectrum(2, "o", 40))],
  ])("is silent of %s", (_, made) => expect(said(matrix_like_random, made as Made)).toBeUndefined());
});

describe("rank of weights with depth", () => {
  test("says which way", () => {
    expect(said(weight_rank_by_depth, spectra(...ranks("ov", [24, 27, 29, 33, 36, 40])))).toBe(
      "24 → 40 directions from layer 0 to layer 5: the OV circuit gains rank with depth (90 % of the energy). Random numbers " +
        "would need 40 in each layer.",
    );
    expect(said(weight_rank_by_depth, spectra(...ranks("q", [40, 36, 33, 29, 27, 24])))).toContain("loses rank with depth");
  });

  test.each([
    ["ranks that fall and then rise", ranks("ov", [40, 30, 24, 28, 32, 36])],
    ["ranks that rise but for one layer", ranks("ov", [24, 30, 27, 33, 36, 40])],
    ["a change too small to matter", ranks("ov", [36, 37, 38, 39, 40, 41])],
    ["one layer apart", ranks("ov", [24, 24, 24, 24, 24, 40])],
    ["one step and little after it", ranks("ov", [40, 24, 24, 23, 22, 21])],
    ["three of six layers", ranks("ov", [24, 30, 40])],
    ["matrices of several shapes", [24, 27, 29, 33, 36, 40].map((rank, layer) => spectrum(layer, "ov", rank, 40 + layer))],
  ])("is silent of %s", (_, rows) => expect(said(weight_rank_by_depth, spectra(...rows))).toBeUndefined());
});

describe("a joint latent", () => {
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

  test("says what the worst layer keeps, never rounded up", () => {
    expect(said(kv_latent, mla(side(0.7), side(0.659)))).toBe(
      "65 % energy kept is the least that a joint key–value latent of 6 would keep, in layer 1. Of random numbers it would keep 24 %.",
    );
  });

  test("takes the usual latent where it is less than all", () => {
    const wide = { max_possible_rank: 1024, energy: 0.912, random_energy: 0.7 };
    expect(said(kv_latent, mla(side(0.3, 0.24, wide)))).toContain("91 % energy kept is the least that a joint key–value latent of 512");
  });

  test.each([
    ["energies that random numbers would keep too", mla(side(0.7), side(0.26))],
    ["a latent as large as all keys and values", mla(side(1, 1, { max_possible_rank: 6 }))],
    ["a zero matrix in a layer", mla(side(0.7), side(null))],
    ["no layers", mla()],
  ])("is silent of %s", (_, made) => expect(said(kv_latent, made)).toBeUndefined());
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

  test("names the heaviest and its furthest weight", () => {
    expect(said(heavy_tails, weights(row(4, { layer: 0 }), row(161.6)))).toBe(
      "162 excess kurtosis in the MLP's down of layer 2: its largest weight lies 30 deviations from the mean. Random numbers " +
        "have 0, and as many of them reach about 4.08.",
    );
  });

  test.each([
    ["tails usual for trained weights", weights(row(1.4))],
    ["tails lighter than a Gaussian's", weights(row(-1.2))],
    ["few numbers", weights(row(9, { count: 64 }))],
    ["rows of different sizes, none of whose weights is far from the rest", weights(row(4, { min: -0.4, max: 0.4 }))],
    ["one head", weights(row(9, { head: 0 }))],
    ["a constant matrix", weights(row(null, { std: 0 }))],
  ])("is silent of %s", (_, made) => expect(said(heavy_tails, made)).toBeUndefined());
});

describe("a model near random", () => {
  test("says by how much at most, never rounded down", () => {
    expect(said(model_like_random, spectra(spectrum(0, "q", 40), spectrum(1, "q", 41)))).toBe(
      "2.5 % from random is the most by which any of the 4 compared ranks of whole matrices differs from that of random numbers " +
        "(1 of 40). No other measure of this report stands out.",
    );
  });

  test("says which matrices it leaves out", () => {
    const small = (matrix: string) => spectrum(0, matrix, 6, 8, { max_possible_rank: 8 });
    expect(said(model_like_random, spectra(spectrum(0, "q", 5, 6), small("k"), small("v")))).toBe(
      "16.7 % from random is the most by which any of the 2 compared ranks of whole matrices differs from that of random " +
        "numbers (1 of 6). " +
        "Left out are 2 matrices with fewer than 16 directions, where chance weighs too much. No other measure of this report stands out.",
    );
    expect(said(model_like_random, spectra(spectrum(0, "q", 40), small("k")))).toContain(
      "Left out is 1 matrix with fewer than 16 directions",
    );
    expect(said(model_like_random, spectra(small("k"), small("v")))).toBe(
      "0 of 2 matrices compared with random numbers: all have fewer than 16 directions, where chance weighs too much. No other " +
        "measure of this report stands out.",
    );
  });

  test.each([
    ["one matrix with structure among many", spectra(...ranks("q", [40, 40, 40, 40, 40, 30]))],
    ["ranks above the null, as orthogonal matrices have", spectra(spectrum(0, "q", 57))],
    ["no spectra", {}],
  ])("is silent of %s", (_, made) => expect(said(model_like_random, made as Made)).toBeUndefined());
});

describe("all-zero weights", () => {
  const zero = { frobenius_norm: 0, energy_rank: { "0.9": 0 } };

  test("names the matrices, not what is made of them", () => {
    expect(
      said(
        zero_matrices,
        spectra(spectrum(0, "q", 0, 25, zero), spectrum(1, "q", 24, 25), spectrum(0, "k", 24, 25), spectrum(0, "qk", 0, 25, zero)),
      ),
    ).toBe("1 of 3 matrices is all zero W_Q of layer 0: its rank is 0, where random numbers would need 25.");
    expect(
      said(zero_matrices, spectra(...[2, 1, 4].map((layer) => spectrum(layer, "o", 0, 25, zero)), spectrum(4, "down", 0, 25, zero))),
    ).toBe("4 of 4 matrices are all zero W_O of layers 1, 2 and 4 and the MLP's down of layer 4: their rank is 0.");
  });

  test("heads of layers that are not zero as a whole", () => {
    const rows = [
      circuit(0, "ov", null, { frobenius_norm: 1 }),
      ...[0, 1, 2, 3].map((head) => circuit(0, "ov", head, { frobenius_norm: head % 2 })),
      circuit(1, "ov", null, { frobenius_norm: 0 }),
      circuit(1, "ov", 0, { frobenius_norm: 0 }),
    ];
    expect(said(zero_heads, { rows: { circuits: rows } })).toBe(
      "2 of 5 heads' circuits are all zero OV of layer 0 head 0 and OV of layer 0 head 2: of rank 0.",
    );
  });

  test.each([
    ["weights that are small", spectra(spectrum(0, "q", 24, 25, { frobenius_norm: 1e-30 }))],
    ["no spectra", {}],
  ])("is silent of %s", (_, made) => expect(said(zero_matrices, made as Made)).toBeUndefined());
});
