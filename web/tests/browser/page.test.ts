import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { kHostile } from "../unit/every_chart";
import { go, open_file, open_report, sideways, with_browser } from "./harness";
import { changed_report, kTwoModels, kWhole } from "./sample_reports";

with_browser();

describe("the page", () => {
  test("the address restores threshold and model, which other views keep", async () => {
    const { page, close } = await open_report(kTwoModels, "#spectra?t=0.9&m=1");
    await expect.poll(() => page.getByLabel("energy threshold").inputValue()).toBe("0.9");
    await expect.poll(() => page.title()).toContain("shakespeare-gpt2");
    await page.getByRole("link", { name: "Data" }).click();
    await expect.poll(() => page.url()).toContain("#data?t=0.9&m=1");
    await close();
  });

  test("the bar shows every view, or fades at the end beyond which there are more", async () => {
    const { page, close } = await open_report(kTwoModels, "#data", { width: 1280 });
    const nav = page.getByRole("navigation");
    const hidden = () => nav.evaluate((each) => [each.scrollLeft, each.scrollWidth - each.clientWidth - each.scrollLeft]);
    const faded = () => nav.evaluate((each) => [...each.classList].join(" "));
    expect([await hidden(), await faded()]).toEqual([[0, 0], ""]);
    await page.setViewportSize({ width: 390, height: 900 });
    await expect.poll(() => faded()).toBe("more-after");
    await page.keyboard.press("Tab");
    for (const name of ["attnscope", "Overview", "Spectra", "Heads", "Importance", "Weights"]) {
      await page.keyboard.press("Tab");
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(name);
    }
    await expect.poll(() => faded()).toContain("more-before");
    const focused = await page.evaluate(() => document.activeElement!.getBoundingClientRect().right);
    expect(focused).toBeLessThanOrEqual(390);
    await close();
  });

  test("the theme button changes the colors and keeps the focus", async () => {
    const { page, problems, close } = await open_report(kWhole, "#spectra");
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.getByRole("button", { name: "dark colors" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => ground()).not.toBe(light);
    await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toBe("theme");
    expect(problems).toEqual([]);
    await close();
  });

  test("a chart is saved as SVG and PNG under the page's content policy", async () => {
    const { page, problems, close } = await open_report(kWhole, "#spectra");
    const chart = page.locator(".chart").first();
    await chart.hover();
    await chart.locator("summary").click();
    const saved = async (label: string) => {
      const [download] = await Promise.all([page.waitForEvent("download"), chart.getByRole("button", { name: label }).click()]);
      return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
    };
    const svg = await saved("Save SVG");
    expect(svg.name).toBe("spectra-values-by-layer.svg");
    expect(svg.bytes.toString()).toMatch(/^<svg xmlns/);
    const png = await saved("Save PNG");
    expect(png.bytes.subarray(1, 4).toString()).toBe("PNG");
    expect(png.bytes.readUInt32BE(16)).toBe(1800);
    expect(problems).toEqual([]);
    await close();
  });

  test("legend buttons hide a line; with Shift, all others", async () => {
    const { page, close } = await open_report(kWhole, "#spectra");
    const chart = page.locator(".chart-lines").first();
    const lines = () => chart.locator(".chart-body [data-series]").count();
    const all = await lines();
    await chart.locator('.legend [data-series="q"]').click();
    await expect.poll(() => lines()).toBeLessThan(all);
    await chart.locator('.legend [data-series="k"]').click({ modifiers: ["Shift"] });
    await expect.poll(() => chart.locator('.chart-body [data-series]:not([data-series="k"])').count()).toBe(0);
    expect(await lines()).toBeGreaterThan(0);
    await close();
  });

  test("names from a checkpoint are escaped, and only one script is executable", async () => {
    const file = changed_report(kWhole, "hostile", (report) => {
      const old = report.models[0]!.name;
      report.models[0]!.name = kHostile;
      for (const analysis of report.reports) {
        for (const row of analysis.rows as { model: string }[]) if (row.model === old) row.model = kHostile;
        analysis.again = kHostile;
        analysis.skipped.push({ model: kHostile, layer: 0, matrix: kHostile, head: null, reason: kHostile });
      }
      report.command = kHostile;
      report.skipped.push({ part: "maps", model: kHostile, why: kHostile, command: kHostile });
      for (const text of report.texts)
        Object.assign(text, { model: kHostile, tokens: text.tokens.map((token) => ({ ...token, text: kHostile })) });
      for (const map of report.maps) map.model = kHostile;
    });
    expect(readFileSync(file, "utf8").match(/<script(?! type="application)/g)).toHaveLength(1);
    const { page, problems, close } = await open_file(file);
    for (const view of await page.locator("nav a").evaluateAll((links) => links.map((link) => link.getAttribute("href")!))) {
      await go(page, `${view}?t=0.9`);
      await expect.poll(() => page.locator("img, main script").count()).toBe(0);
      expect(await sideways(page)).toBeLessThanOrEqual(0);
    }
    expect(problems).toEqual([]);
    await close();
  });
});
