import { describe, expect, test } from "vitest";
import type { AttentionHeadRow } from "../../src/data/report_file";
import { holds_as_view, open_file, open_report, tabs_to, with_browser } from "./harness";
import { changed_report, kPartial, kTwoModels, kWhole, report_file, results_of } from "./sample_reports";

with_browser();

const kMap = '[data-chart="attention-map"] .chart-body svg';

describe("attention", () => {
  holds_as_view("#attention");
  holds_as_view("#attention?l=1&h=1&q=20&c=sqrt&keys=others", kTwoModels);
  holds_as_view("#attention", kPartial);

  test("a head's measures match the report", async () => {
    const { page, close } = await open_report(kWhole, "#attention?l=3&h=2");
    const { rows } = results_of(report_file(kWhole)).reports.find(({ id }) => id === "attention")! as { rows: AttentionHeadRow[] };
    const row = rows.find((each) => each.layer === 3 && each.head === 2)!;
    const words = await page.locator(".head-facts").textContent();
    expect(words).toContain(`${row.entropy?.toFixed(2)} nats entropy`);
    expect(words).toContain(`${Number(row.energy_rank?.toFixed(1))} energy rank`);
    expect(words).toContain(`${Math.round((row.sink_mass ?? NaN) * 100)}% first token`);
    await close();
  });

  test("the grid selects a head; color scale and keys change the map", async () => {
    const { page, close } = await open_report(kWhole, "#attention?l=0&h=0");
    const image = () => page.locator(`${kMap} image`).getAttribute("href");
    const first = await image();
    await page.locator('[data-chart="attention-wall"] [data-row="2"][data-column="3"]').click();
    await expect.poll(() => page.locator('[data-chart="attention-map"] h2').textContent()).toBe("L2H3");
    const second = await image();
    expect(second).not.toBe(first);
    await page.getByRole("button", { name: "Square-root scale" }).click();
    await expect.poll(image).not.toBe(second);
    const third = await image();
    await page.getByRole("button", { name: "Exclude first token" }).click();
    await expect.poll(image).not.toBe(third);
    await close();
  });

  test("pointing at a token colors the text and frames its row; a click keeps it", async () => {
    const { page, close } = await open_report(kWhole, "#attention?l=2&h=1");
    const title = page.locator(".text-panel h2");
    const colors = () =>
      page.locator(".tokens span").evaluateAll((tokens) => tokens.map((token) => (token as HTMLElement).style.background).join());
    await expect.poll(() => title.textContent()).toBe("Mean attention");
    const average = await colors();
    await page.locator('[data-token="12"]').hover();
    await expect.poll(() => title.textContent()).toContain("(token 12)");
    await expect.poll(() => colors()).not.toBe(average);
    await page.locator('[data-token="12"]').click();
    await page.mouse.move(0, 0);
    await expect.poll(() => title.textContent()).toContain("(token 12)");
    await expect.poll(() => page.url()).toContain("q=12");
    await page.reload();
    await page.waitForFunction(() => document.querySelector(".is-query"));
    await expect.poll(() => page.locator('[data-token="12"]').getAttribute("aria-selected")).toBe("true");
    await close();
  });

  test("arrow keys move between tokens in one tab stop", async () => {
    const { page, close } = await open_report(kWhole, "#attention");
    await tabs_to(page, ".tokens [data-token]");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => page.locator(".text-panel h2").textContent()).toContain("(token 46)");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("q=46");
    await close();
  });

  test("the map zooms and pans with keys, and the address stores the window", async () => {
    const { page, close } = await open_report(kWhole, "#attention?l=2&h=1");
    const width = async () => Number(await page.locator(`${kMap} image`).getAttribute("width"));
    const whole = await width();
    await page.locator(kMap).first().focus();
    await page.keyboard.press("+");
    await page.keyboard.press("+");
    await expect.poll(() => width()).toBeGreaterThan(whole * 2);
    await expect.poll(() => page.url()).toMatch(/z=\d+%2C\d+%2C21/);
    const at = page.url();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.url()).not.toBe(at);
    await page.keyboard.press("0");
    await expect.poll(() => width()).toBe(whole);
    await expect.poll(() => page.url()).not.toContain("z=");
    await close();
  });

  test("with thumbnails only, the page shows the command for a full map", async () => {
    const file = changed_report(kWhole, "thumbnails", (results) =>
      results.maps.forEach((map) => Object.assign(map, { side: 16, causal: false })),
    );
    const { page, problems, close } = await open_file(file, "#attention?l=1&h=2");
    await expect.poll(() => page.locator(".attention-map .absent").textContent()).toMatch(/maximum of 9 weights.*--maps 1,2/);
    await expect.poll(() => page.locator(".tokens").count()).toBe(0);
    expect(problems).toEqual([]);
    await close();
  });
});
