// Selection and order of findings.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { plain } from "../../../src/chart/rich_text";
import { all_charts } from "../../../src/exported_charts";
import { at_least_percent, at_most_percent, small_percent } from "../../../src/findings/finding";
import { findings, kOfHeadsWeights } from "../../../src/findings/all_findings";
import { layers_words } from "../../../src/shaping/shared_words";
import { head_charts } from "../../../src/views/heads/charts";
import { models_view } from "../../../src/views/models/view";
import { attention_head, attention_layer, circuit, reading, said, spectrum, type Made } from "./made_readings";

const spectra = (rank: number) => Array.from({ length: 6 }, (_, layer) => spectrum(layer, "q", rank));

describe("findings", () => {
  const of_weights = { spectrum: spectra(30), circuits: [circuit(0, "ov", 0, { copying_score: 0.8 })] };
  const kinds_of = (made: Made) => findings(reading(made)).map((each) => each.kind);

  test("measurements on the text come before weights, sorted by distance from the baseline", () => {
    const rows = { ...of_weights, attention: [attention_head(0, 0, { sink_mass: 0.6 }), attention_head(0, 1, { previous_token: 0.9 })] };
    expect(kinds_of({ rows })).toEqual(["previous_token_heads", "attention_sink_heads", "copying_heads", "low_rank_matrix"]);
  });

  const ablated = (loss_increase: number) => ({
    component: "head",
    layer: 0,
    head: 1,
    how: "mean",
    loss_increase,
    loss_increase_error: 0.001,
    loss: 3,
  });
  const raising = attention_head(0, 2, { attended_token_effect: 0.2, attended_token_effect_error: 0.01, sink_mass: 0.99 });

  test("measured effects come first, the largest in nats first", () => {
    const made = (loss: number): Made => ({
      model: { vocab_size: 99 },
      rows: { ...of_weights, attention: [raising], ablate: [ablated(loss)] },
    });
    expect(kinds_of(made(0.3))).toEqual(["important_head", "attended_token_effect", "attention_sink_heads", "low_rank_matrix"]);
    expect(kinds_of(made(-0.3))).toEqual(["important_head", "attended_token_effect", "attention_sink_heads", "low_rank_matrix"]);
    expect(kinds_of(made(0.1))).toEqual(["attended_token_effect", "important_head", "attention_sink_heads", "low_rank_matrix"]);
  });

  test("an ablation effect is never dropped", () => {
    const attention = [
      ...[0, 1, 2, 3, 4, 5].map((layer) => attention_layer(layer, 30 - 5 * layer, { collapsed: layer === 5 })),
      raising,
      attention_head(0, 1, { previous_token: 0.9 }),
    ];
    const found = kinds_of({
      model: { vocab_size: 99 },
      rows: {
        ...of_weights,
        attention,
        spectrum: [...spectra(10), ...spectra(0).map((row) => ({ ...row, matrix: "k", frobenius_norm: 0 }))],
        induction: [{ layer: 0, head: 0, induction: 0.9, induction_error: 0, uniform_induction: 0.014 }],
        ablate: [ablated(0.012)],
      },
    });
    expect(found).toHaveLength(6);
    expect(found.slice(0, 2)).toEqual(["attended_token_effect", "important_head"]);
  });

  test("at most six, with distances between 0 and 1", () => {
    const found = findings(
      reading({
        rows: {
          spectrum: spectra(10),
          circuits: [
            circuit(0, "ov", 0, { copying_score: 0.8 }),
            circuit(0, "qk", 0, { symmetry: 0.9 }),
            circuit(0, "qk", null, { identity_cosine: 0.9 }),
          ],
          attention: [attention_head(0, 0, { sink_mass: 0.9 }), attention_head(0, 1, { previous_token: 0.9 })],
          induction: [{ layer: 0, head: 0, induction: 0.9, induction_error: 0, uniform_induction: 0.014 }],
          weights: [{ layer: 0, matrix: "q", head: null, count: 4096, mean: 0, std: 1, min: -9, max: 9, excess_kurtosis: 30 }],
        },
      }),
    );
    expect(found).toHaveLength(6);
    for (const each of found) {
      expect(each.distance).toBeGreaterThan(0);
      expect(each.distance).toBeLessThanOrEqual(1);
    }
  });

  test("findings from head weights do not come first if there is another", () => {
    const heads = { circuits: [circuit(0, "ov", 0, { copying_score: 0.98 }), circuit(0, "qk", 0, { symmetry: 0.97 })] };
    const kinds = (rows: object) => findings(reading({ rows: { ...heads, ...rows } })).map((each) => each.kind);
    expect(kinds({ spectrum: spectra(35) })).toEqual(["low_rank_matrix", "copying_heads", "symmetric_heads"]);
    expect(kinds({ attention: [attention_head(0, 0, { sink_mass: 0.6 })] })).toEqual([
      "attention_sink_heads",
      "copying_heads",
      "symmetric_heads",
    ]);
    expect(kinds({})).toEqual(["copying_heads", "symmetric_heads"]);
  });

  test("an all-zero matrix comes first", () => {
    const zero = spectrum(3, "q", 0, 40, { frobenius_norm: 0 });
    expect(findings(reading({ rows: { spectrum: [...spectra(40).slice(0, 3), zero] } })).map((each) => each.kind)).toEqual([
      "zero_matrices",
    ]);
  });

  test("a random model has one finding", () => {
    expect(findings(reading({ rows: { spectrum: spectra(40) } })).map((each) => each.kind)).toEqual(["model_like_random"]);
  });

  test("random spectra do not hide other findings", () => {
    expect(
      findings(reading({ rows: { spectrum: spectra(40), attention: [attention_head(0, 0, { sink_mass: 0.95 })] } })).map(
        (each) => each.kind,
      ),
    ).toEqual(["attention_sink_heads"]);
  });

  test("no findings without rows", () => expect(findings(reading({}))).toEqual([]));

  test("a model's findings use only its own rows", () => {
    const made = reading({ rows: { spectrum: [...spectra(40), ...spectra(10).map((row) => ({ ...row, model: "other" }))] } });
    expect(findings(made).map((each) => each.kind)).toEqual(["model_like_random"]);
  });
});

describe("wording", () => {
  test("layers", () => {
    expect(layers_words([3])).toBe("layer 3");
    expect(layers_words([3, 4])).toBe("layers 3 and 4");
    expect(layers_words([9, 10, 11])).toBe("layers 9–11");
    expect(layers_words([0, 2, 3, 5, 6, 7])).toBe("layers 0, 2, 3 and 5–7");
  });

  test("bounds are not rounded the wrong way", () => {
    expect(at_least_percent(0.909)).toBe("90%");
    expect(at_least_percent(0.91)).toBe("91%");
    expect(at_most_percent(0.0121)).toBe("1.3%");
    expect(small_percent(0.0069)).toBe("0.7%");
    expect(small_percent(0.0519)).toBe("5.2%");
  });
});

// A score from weights describes the effect on raw embeddings. On text, a head may have the opposite effect.
describe("findings from weights alone", () => {
  const kClaims = /(?<!\bwould )\b(raises?|lowers?(?! scores)|suppress(es)?|cop(y|ies)|looks?|feeds? a|made of)\b/i;
  const overlap = (matrix: string, value: number) => ({
    layer: 0,
    matrix,
    ranks: [6, 6],
    overlap: [
      [1, value],
      [value, 1],
    ],
  });
  const made = (sign: number): Made => ({
    model: { heads: 2, kv_heads: 2, rotary: sign > 0 },
    rows: {
      circuits: [
        circuit(0, "ov", 0, { copying_score: 0.9 * sign }),
        circuit(0, "ov", 1, { copying_score: 0.8 * sign }),
        circuit(1, "ov", 0, { copying_score: -0.9 * sign }),
        circuit(0, "qk", 0, { symmetry: 0.9, positive_fraction: 1 }),
        circuit(0, "qk", null, { identity_cosine: 0.4 * sign }),
        circuit(1, "ov", 1, { frobenius_norm: 0 }),
      ],
      overlap: sign > 0 ? ["q", "k", "v"].map((matrix) => overlap(matrix, 0.95)) : [overlap("q", 0.5)],
      composition: [{ kind: sign > 0 ? "k" : "q", layer: 0, head: 1, receiver_layer: 1, receiver_head: 0, score: 0.6, excess: 0.5 }],
    },
  });

  test.each([1, -1])("make no claim about behavior on text (sign %d)", (sign) => {
    const said_of = Object.values(kOfHeadsWeights).flatMap((kind) => said(kind, made(sign)) ?? []);
    expect(said_of).toHaveLength(6);
    for (const words of said_of) expect(words).not.toMatch(kClaims);
  });

  test.each([
    "features/circuits/fields.cpp",
    "features/circuits/command.cpp",
    "features/circuits/table.cpp",
    "features/circuits/composition_table.cpp",
  ])("no claim in %s", (file) => {
    const source = readFileSync(new URL(`../../../../attnscope/${file}`, import.meta.url), "utf8");
    const texts = [...source.replace(/\/\/.*/g, "").matchAll(/"([^"\n]*)"/g)].map(([, text]) => text!);
    expect(texts.length).toBeGreaterThan(10);
    for (const text of texts) expect(text).not.toMatch(kClaims);
  });

  test("no claim in charts of heads and models", () => {
    for (const sign of [1, -1]) {
      const of_weights = made(sign);
      for (const chart of [...head_charts(reading(of_weights)), ...models_view.charts!(reading(of_weights))])
        expect(`${plain(chart.title)} ${"note" in chart ? plain(chart.note ?? "") : ""}`).not.toMatch(kClaims);
    }
  });
});

test("an empty report has no charts to export", () => expect(all_charts(reading({}).report)).toEqual([]));
