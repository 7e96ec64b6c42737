import { describe, expect, test } from "vitest";
import { scored_words } from "../../src/shaping/texts";
import { analysis_of, reading_of, report_of } from "./report_by_hand";

const words = (id: string, parameters: object) => scored_words(reading_of(report_of({ reports: [analysis_of(id, [], parameters)] }), {}));

describe("the positions that losses and means are over", () => {
  test("are all without a choice", () => {
    expect(words("attention", { source: "text" })).toBe("Measured on the text. Losses and means are over all positions.");
  });

  test("are named as they were given, of whichever analysis ran the text", () => {
    expect(words("ablate", { source: "sums.bin", score_positions: "last" })).toBe(
      "Measured on sums.bin. Losses and means are over the last token of each example.",
    );
    expect(words("lens", { source: "book.txt", lines: true, score_positions: "3,5-9" })).toBe(
      "Measured on book.txt, line by line. Losses and means are over the tokens at positions 3,5-9 of each example.",
    );
  });

  test("of a mask have its name", () => {
    expect(words("lens", { source: "tokens", score_positions: "mask.npy" })).toBe(
      "Measured on the text. Losses and means are over the tokens that mask.npy marks.",
    );
  });

  test("are not said without a text", () => {
    expect(words("spectrum", {})).toBeUndefined();
  });
});
