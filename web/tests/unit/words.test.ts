// Texts in little room, as labels and cells of charts have it.
import { describe, expect, test } from "vitest";
import { fitted, text_width } from "../../src/chart/rich_text";

describe("fitted", () => {
  test("keeps as much as there is room for", () => {
    for (const text of ["", "a", "W", "Ġthe", "iiiiiiii", "WWWWWWWW", "mixed Wide and illi", "日本語のテキスト", "a😀b😀c"]) {
      for (let width = 0; width < 130; width += 3) {
        const shown = fitted(text, width, 10.4);
        if (text_width(text, 10.4) <= width || [...text].length <= 1) {
          expect(shown).toBe(text);
          continue;
        }
        const kept = [...shown.slice(0, -1)];
        expect(shown.endsWith("…")).toBe(true);
        expect(text.startsWith(kept.join(""))).toBe(true);
        expect(kept.length).toBeGreaterThan(0);
        if (kept.length > 1) expect(text_width(shown, 10.4)).toBeLessThanOrEqual(width + 1e-9);
        const more = `${[...text].slice(0, kept.length + 1).join("")}…`;
        expect(text_width(more, 10.4)).toBeGreaterThan(width - 1e-9);
      }
    }
  });

  test("measures a long text only as far as it is shown", () => {
    const text = "x".repeat(5_000_000); // measured again for each shorter one, this takes hours
    expect(fitted(text, 40, 10)).toBe("xxxxx…");
  });
});
