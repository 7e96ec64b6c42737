import { describe, expect, test } from "vitest";
import { scored_words } from "../../src/shaping/texts";
import { analysis_of, reading_of, report_of } from "./report_by_hand";

const words = (id: string, parameters: object) => scored_words(reading_of(report_of({ reports: [analysis_of(id, [], parameters)] }), {}));

describe("positions over which losses and means are taken", () => {
  test("all positions by default", () => {
    expect(words("attention", { source: "text" })).toBe("Measured on the text. Losses and means are over all positions.");
  });

  test("positions as given, from any analysis of the text", () => {
    expect(words("ablate", { source: "sums.bin", score_positions: "last" })).toBe(
      "Measured on sums.bin. Losses and means are over the last token of each example.",
    );
    expect(words("lens", { source: "book.txt", lines: true, score_positions: "3,5-9" })).toBe(
      "Measured on book.txt, line by line. Losses and means are over the tokens at positions 3,5-9 of each example.",
    );
  });

  test("a mask with its name", () => {
    expect(words("lens", { source: "tokens", score_positions: "mask.npy" })).toBe(
      "Measured on the text. Losses and means are over the tokens marked by mask.npy.",
    );
  });

  test("undefined without a text", () => {
    expect(words("spectrum", {})).toBeUndefined();
  });
});
