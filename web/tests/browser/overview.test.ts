import { describe, expect, test } from "vitest";
import { holds_as_view, open_report, tabs_to, with_browser } from "./harness";
import { kPartial, kTwoModels, kWhole } from "./sample_reports";

with_browser();

describe("overview", () => {
  holds_as_view("#overview");
  holds_as_view("#overview?t=0.9", kTwoModels);
  holds_as_view("#overview", kPartial);

  test("is the start view, with sections in this order", async () => {
    const { page, close } = await open_report(kWhole);
    await expect.poll(() => page.locator("h1").textContent()).toBe("shakespeare-gpt2");
    await expect
      .poll(() => page.locator("main h2").allTextContents())
      .toEqual(["Findings", "Rank atlas", "Attention of every head on one text", "Heads", "Spectra relative to random"]);
    await close();
  });

  test("shows at most six findings, each with a link to its view", async () => {
    const { page, problems, close } = await open_report(kWhole);
    const found = page.locator(".finding");
    const count = await found.count();
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(6);
    for (const address of await found.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href")!)))
      expect(address).toMatch(/^#(spectra|heads|ablation|weights|similarity|attention)\?/);
    await found.locator('a[href^="#spectra"]').first().click();
    await expect.poll(() => page.locator("h1").textContent()).toBe("Spectra");
    expect(problems).toEqual([]);
    await close();
  });

  test("the atlas shows the results at the selected threshold", async () => {
    const { page, close } = await open_report(kWhole, "#overview?t=0.9");
    const row = page.locator('[data-chart="overview-atlas"] [role="gridcell"]').first();
    const words = await row.getAttribute("aria-label");
    expect(words).toMatch(/^W_Q, layer 0: rank \d+ of 192 \(random: 98\)$/);
    await page.getByLabel("energy threshold").selectOption("0.99");
    await expect.poll(() => row.getAttribute("aria-label")).toMatch(/\(random: 148\)$/);
    await close();
  });

  test("cells link to their views", async () => {
    const { page, close } = await open_report(kWhole);
    await page.locator('[data-chart="overview-atlas"] [role="gridcell"][data-row="2"]').first().click();
    await expect.poll(() => page.url()).toMatch(/#spectra\?.*l=2/);
    await page.goBack();
    await page.locator('[data-chart="overview-wall"] [role="gridcell"][data-row="1"][data-column="3"]').click();
    await expect.poll(() => page.url()).toMatch(/#attention\?.*l=1&h=3/);
    await close();
  });

  test("compares several models", async () => {
    const { page, close } = await open_report(kTwoModels);
    await expect
      .poll(() => page.locator('[data-chart="overview-models"] .legend button').allTextContents())
      .toEqual(["shakespeare-llama", "shakespeare-gpt2"]);
    await close();
  });

  test("a report with missing analyses shows the commands", async () => {
    const { page, close } = await open_report(kPartial);
    await expect
      .poll(() => page.locator("main h2").allTextContents())
      .toEqual(expect.arrayContaining(["Rank atlas", "Attention of every head on one text", "Heads", "Spectra relative to random"]));
    await expect
      .poll(() => page.locator(".absent code").allTextContents())
      .toEqual([
        "attnscope spectrum MODEL --values --per-head",
        "attnscope report MODEL --text-file FILE -o report.html",
        "attnscope circuits MODEL",
        "attnscope spectrum MODEL --values --per-head",
      ]);
    await close();
  });

  test("keys reach the first finding, and arrows move in the atlas", async () => {
    const { page, close } = await open_report(kWhole);
    expect(await tabs_to(page, ".finding a")).toBeLessThan(20);
    await tabs_to(page, '[data-chart="overview-atlas"] [role="gridcell"]');
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.evaluate(() => (document.activeElement as SVGElement).dataset.row)).toBe("1");
    await close();
  });
});
