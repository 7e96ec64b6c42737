// Images of the documentation. UPDATE=1 takes the screenshots again; without it, the tests fail if a shown text changed since.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { open_report, with_browser } from "./harness";
import { kOfDocs, kWeb } from "./sample_reports";

const kImages = [
  { name: "overview", fragment: "#overview", height: 1130 },
  { name: "attention", fragment: "#attention?l=0&h=2", height: 940 },
];
const image = (file: string): string => resolve(kWeb, "../docs/images", file);

// Figures may differ in their last digits between CPUs.
const without_digits = (text: string): string => text.replace(/\d+/g, "0").replace(/\s+/g, " ").trim();

with_browser();

describe("images of the documentation", () => {
  test.each(kImages)("$name shows the current report", async ({ name, fragment, height }) => {
    const { page, close } = await open_report(kOfDocs, fragment, { height });
    const shown = without_digits(await page.locator("main").innerText());
    if (process.env.UPDATE) {
      await page.screenshot({ path: image(`${name}.png`) });
      writeFileSync(image(`${name}.txt`), shown + "\n");
    }
    expect(shown, "run UPDATE=1 npx vitest run --project browser tests/browser/images.test.ts").toBe(
      readFileSync(image(`${name}.txt`), "utf8").trim(),
    );
    await close();
  });
});
