// Attention maps of cross-attention, images and audio.
import { describe, expect, test } from "vitest";
import type { AttentionHeadRow } from "../../src/data/report_file";
import { go, holds_as_view, open_report, tabs_to, with_browser } from "./harness";
import { kAcross, kImage, kRegisters, kSound, report_file, results_of } from "./sample_reports";

with_browser();

describe("cross-attention", () => {
  holds_as_view("#attention?m=2", kAcross);

  test("rows are target tokens, columns are source tokens, and the source is colored", async () => {
    const { page, problems, close } = await open_report(kAcross, "#attention?m=2&l=0&h=1");
    const map = page.locator('[data-chart="attention-map"] .chart-body > svg');
    await expect.poll(() => map.getAttribute("aria-label")).toContain("9 tokens to 14 source tokens");
    const box = (await map.locator("svg").first().boundingBox())!;
    expect(box.width / box.height).toBeCloseTo(14 / 9, 1);
    const listed = page.locator('.tokens[role="listbox"] span');
    const source = page.locator(".tokens.read-only span");
    expect([await listed.count(), await source.count()]).toEqual([9, 14]);
    const colors = () => source.evaluateAll((tokens) => tokens.map((token) => (token as HTMLElement).style.background).join());
    const average = await colors();
    await page.locator('[data-token="4"]').hover();
    await expect.poll(colors).not.toBe(average);
    expect(await listed.evaluateAll((tokens) => tokens.filter((token) => (token as HTMLElement).style.background !== "").length)).toBe(0);
    expect(problems).toEqual([]);
    await close();
  });

  test("a control switches between stacks", async () => {
    const { page, close } = await open_report(kAcross, "#attention?m=0");
    const wall = page.locator('[data-chart="attention-wall"] image');
    const first = await wall.getAttribute("href");
    await page.getByRole("group", { name: "stack" }).getByRole("button", { name: "cross" }).click();
    await expect.poll(() => wall.getAttribute("href")).not.toBe(first);
    await expect.poll(() => page.url()).toContain("m=2");
    await close();
  });

  test("alignment is shown per head", async () => {
    const { page, close } = await open_report(kAcross, "#attention?m=2&l=1&h=0");
    const { rows } = results_of(report_file(kAcross)).reports.find(({ id, model }) => id === "attention" && model === "t5:cross")! as {
      rows: AttentionHeadRow[];
    };
    const row = rows.find((each) => each.layer === 1 && each.head === 0)!;
    const words = await page.locator(".head-facts").textContent();
    expect(words).toContain(`${row.diagonality!.toFixed(2)} diagonality`);
    expect(words).toContain(`${row.monotonicity!.toFixed(2)} monotonicity`);
    for (const chart of ["attention-diagonality", "attention-monotonicity"])
      expect(await page.locator(`[data-chart="${chart}"] [role="gridcell"]`).count()).toBeGreaterThan(1);
    await close();
  });
});

describe("an image", () => {
  holds_as_view("#attention", kImage);
  holds_as_view("#overview", kImage);

  test("shows the class token's attention, or that of the patch under the pointer", async () => {
    const { page, problems, close } = await open_report(kImage, "#attention?l=0&h=0");
    const title = page.locator('[data-chart="attention-picture"] h2');
    const patches = page.locator('[data-chart="attention-picture"] [data-place]');
    await expect.poll(() => title.textContent()).toBe("Attention of the class token");
    const fills = () => patches.evaluateAll((cells) => cells.map((cell) => cell.getAttribute("fill")).join());
    const of_class = await fills();
    await patches.nth(1).hover();
    await expect.poll(() => title.textContent()).toMatch(/^Attention of patch \d+,\d+$/);
    await expect.poll(fills).not.toBe(of_class);
    await patches.nth(1).click();
    await page.mouse.move(0, 0);
    await expect.poll(() => title.textContent()).toMatch(/^Attention of patch/);
    await expect.poll(() => page.url()).toContain("q=");
    expect(problems).toEqual([]);
    await close();
  });

  test("the image is the one in the report", async () => {
    const { page, close } = await open_report(kImage, "#attention");
    const [picture] = results_of(report_file(kImage)).pictures;
    const size = await page.locator('[data-chart="attention-picture"] image').evaluate(async (image) => {
      const shown = new Image();
      shown.src = image.getAttribute("href") ?? "";
      await shown.decode();
      return [shown.naturalHeight, shown.naturalWidth];
    });
    expect(size).toEqual([picture!.rows, picture!.cols]);
    expect(await page.locator('[data-chart="attention-picture"] [data-place]').count()).toBe(
      picture!.names.length + picture!.patch_rows * picture!.patch_cols,
    );
    await close();
  });

  test("arrow keys move between patches in one tab stop, and down to the other tokens", async () => {
    const { page, close } = await open_report(kRegisters, "#attention");
    await tabs_to(page, '[data-chart="attention-picture"] [role="gridcell"]');
    const title = page.locator('[data-chart="attention-picture"] h2');
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => title.textContent()).toBe("Attention of patch 0,1");
    await page.keyboard.press("Control+End");
    await expect.poll(() => title.textContent()).toMatch(/^Attention of the register \d+$/);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("q=");
    await close();
  });
});

describe("audio", () => {
  holds_as_view("#attention", kSound);

  test("frames are named by time, and Enter keeps the selected one", async () => {
    const { page, close } = await open_report(kSound, "#attention");
    const title = page.locator('[data-chart="attention-sound"] h2');
    await expect.poll(() => title.textContent()).toBe("Mean attention");
    await tabs_to(page, '[data-chart="attention-sound"] .chart-body > svg');
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => title.textContent()).toMatch(/^Attention of the frame at 0\.\d\d\u202fs$/);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("q=1");
    await go(page, "#overview");
    await close();
  });
});
