// Text in narrow spaces, such as labels and cells of charts.
import { describe, expect, test } from "vitest";
import { fitted, text_width } from "../../src/chart/rich_text";

describe("fitted", () => {
  test("keeps as much as fits", () => {
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

  test("measures only the visible part of a long text", () => {
    const text = "x".repeat(5_000_000); // measuring every shorter prefix again would take hours
    expect(fitted(text, 40, 10)).toBe("xxxxx…");
  });
});
