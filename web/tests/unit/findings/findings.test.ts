// Which sentences a model gets, in which order.
import { describe, expect, test } from "vitest";
import { all_charts } from "../../../src/exported_charts";
import { at_least_percent, at_most_percent, layers_words, small_percent } from "../../../src/findings/finding";
import { findings } from "../../../src/findings/findings";
import { attention_head, circuit, reading, spectrum } from "./made";

const spectra = (rank: number) => Array.from({ length: 6 }, (_, layer) => spectrum(layer, "q", rank));

describe("findings", () => {
  test("the furthest from its null comes first", () => {
    const found = findings(reading({ rows: {
      spectrum: spectra(30), circuits: [circuit(0, "ov", 0, { copying_score: 0.8 })], attention: [attention_head(0, 0, { sink_mass: 0.95 })],
    } }));
    expect(found.map((each) => each.kind)).toEqual(["sink", "copying", "fewest_directions"]);
    expect(found.map((each) => each.distance)).toEqual([...found.map((each) => each.distance)].sort((a, b) => b - a));
  });

  test("at most six, each between the null and the most there can be", () => {
    const found = findings(reading({ rows: {
      spectrum: spectra(10), circuits: [circuit(0, "ov", 0, { copying_score: 0.8 }), circuit(0, "qk", 0, { symmetry: 0.9 }), circuit(0, "qk", null, { identity_cosine: 0.9 })],
      attention: [attention_head(0, 0, { sink_mass: 0.9 }), attention_head(0, 1, { previous_token: 0.9 })], induction: [{ layer: 0, head: 0, induction: 0.9, induction_error: 0 }],
      weights: [{ layer: 0, matrix: "q", head: null, count: 4096, mean: 0, std: 1, min: -9, max: 9, excess_kurtosis: 30 }],
    } }));
    expect(found).toHaveLength(6);
    for (const each of found) {
      expect(each.distance).toBeGreaterThan(0);
      expect(each.distance).toBeLessThanOrEqual(1);
    }
  });

  test("of a random model, just that", () => {
    expect(findings(reading({ rows: { spectrum: spectra(40) } })).map((each) => each.kind)).toEqual(["near_random"]);
  });

  test("random spectra are not all there is to a model", () => {
    expect(findings(reading({ rows: { spectrum: spectra(40), attention: [attention_head(0, 0, { sink_mass: 0.95 })] } })).map((each) => each.kind)).toEqual(["sink"]);
  });

  test("of nothing, nothing", () => expect(findings(reading({}))).toEqual([]));

  test("a model's sentences come from its own rows", () => {
    const made = reading({ rows: { spectrum: [...spectra(40), ...spectra(10).map((row) => ({ ...row, model: "other" }))] } });
    expect(findings(made).map((each) => each.kind)).toEqual(["near_random"]);
  });
});

describe("words", () => {
  test("layers", () => {
    expect(layers_words([3])).toBe("layer 3");
    expect(layers_words([3, 4])).toBe("layers 3 and 4");
    expect(layers_words([9, 10, 11])).toBe("layers 9–11");
    expect(layers_words([0, 2, 3, 5, 6, 7])).toBe("layers 0, 2, 3 and 5–7");
  });

  test("shares keep what they promise", () => {
    expect(at_least_percent(0.909)).toBe("90\u202f%");
    expect(at_least_percent(0.91)).toBe("91\u202f%");
    expect(at_most_percent(0.0121)).toBe("1.3\u202f%");
    expect(small_percent(0.0069)).toBe("0.7\u202f%");
    expect(small_percent(0.0519)).toBe("5.2\u202f%");
  });
});

test("a report of nothing has no charts to export", () => expect(all_charts(reading({}).report)).toEqual([]));
