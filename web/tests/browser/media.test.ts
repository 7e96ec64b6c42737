// Maps of what is no single text: of a target on its source, of an image, of sound.
import { describe, expect, test } from "vitest";
import type { AttentionHeadRow } from "../../src/data/report_file";
import { go, holds_as_view, open_report, tabs_to, with_browser } from "./harness";
import { kAcross, kImage, kRegisters, kSound, report_file, results_of } from "./sample_reports";

with_browser();

describe("a target on its source", () => {
  holds_as_view("#attention?m=2", kAcross);

  test("rows are the target's tokens, columns the source's, and the source is coloured", async () => {
    const { page, problems, close } = await open_report(kAcross, "#attention?m=2&l=0&h=1");
    const map = page.locator('[data-chart="attention-map"] .chart-body > svg');
    await expect.poll(() => map.getAttribute("aria-label")).toContain("9 tokens to 14 of a source");
    const box = (await map.locator("svg").first().boundingBox())!;
    expect(box.width / box.height).toBeCloseTo(14 / 9, 1);
    const listed = page.locator('.tokens[role="listbox"] span');
    const source = page.locator(".tokens.read-only span");
    expect([await listed.count(), await source.count()]).toEqual([9, 14]);
    const colours = () => source.evaluateAll((tokens) => tokens.map((token) => (token as HTMLElement).style.background).join());
    const average = await colours();
    await page.locator('[data-token="4"]').hover();
    await expect.poll(colours).not.toBe(average);
    expect(await listed.evaluateAll((tokens) => tokens.filter((token) => (token as HTMLElement).style.background !== "").length)).toBe(0);
    expect(problems).toEqual([]);
    await close();
  });

  test("one control leads from stack to stack", async () => {
    const { page, close } = await open_report(kAcross, "#attention?m=0");
    const wall = page.locator('[data-chart="attention-wall"] image');
    const first = await wall.getAttribute("href");
    await page.getByRole("group", { name: "stack" }).getByRole("button", { name: "cross" }).click();
    await expect.poll(() => wall.getAttribute("href")).not.toBe(first);
    await expect.poll(() => page.url()).toContain("m=2");
    await close();
  });

  test("alignment is shown head by head", async () => {
    const { page, close } = await open_report(kAcross, "#attention?m=2&l=1&h=0");
    const { rows } = results_of(report_file(kAcross)).reports.find(({ id, model }) => id === "attention" && model === "t5:cross")! as {
      rows: AttentionHeadRow[];
    };
    const row = rows.find((each) => each.layer === 1 && each.head === 0)!;
    const words = await page.locator(".head-facts").textContent();
    expect(words).toContain(`${row.diagonality!.toFixed(2)} diagonal`);
    expect(words).toContain(`${row.monotonicity!.toFixed(2)} monotone`);
    for (const chart of ["attention-diagonality", "attention-monotonicity"])
      expect(await page.locator(`[data-chart="${chart}"] [role="gridcell"]`).count()).toBeGreaterThan(1);
    await close();
  });
});

describe("an image", () => {
  holds_as_view("#attention", kImage);
  holds_as_view("#overview", kImage);

  test("the class token's map lies over the picture, and any patch's when it is pointed at", async () => {
    const { page, problems, close } = await open_report(kImage, "#attention?l=0&h=0");
    const title = page.locator('[data-chart="attention-picture"] h2');
    const patches = page.locator('[data-chart="attention-picture"] [data-place]');
    await expect.poll(() => title.textContent()).toBe("What the class token looks at");
    const fills = () => patches.evaluateAll((cells) => cells.map((cell) => cell.getAttribute("fill")).join());
    const of_class = await fills();
    await patches.nth(1).hover();
    await expect.poll(() => title.textContent()).toMatch(/^What patch \d+,\d+ looks at$/);
    await expect.poll(fills).not.toBe(of_class);
    await patches.nth(1).click();
    await page.mouse.move(0, 0);
    await expect.poll(() => title.textContent()).toMatch(/^What patch/);
    await expect.poll(() => page.url()).toContain("q=");
    expect(problems).toEqual([]);
    await close();
  });

  test("the picture is the one that the report holds", async () => {
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

  test("arrows move from patch to patch in one tab stop, and down to the tokens of no place", async () => {
    const { page, close } = await open_report(kRegisters, "#attention");
    await tabs_to(page, '[data-chart="attention-picture"] [role="gridcell"]');
    const title = page.locator('[data-chart="attention-picture"] h2');
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => title.textContent()).toBe("What patch 0,1 looks at");
    await page.keyboard.press("Control+End");
    await expect.poll(() => title.textContent()).toMatch(/^What the register \d+ looks at$/);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("q=");
    await close();
  });
});

describe("sound", () => {
  holds_as_view("#attention", kSound);

  test("frames are named by their time, and one that is pointed at is held with Enter", async () => {
    const { page, close } = await open_report(kSound, "#attention");
    const title = page.locator('[data-chart="attention-sound"] h2');
    await expect.poll(() => title.textContent()).toBe("What is looked at, on average");
    await tabs_to(page, '[data-chart="attention-sound"] .chart-body > svg');
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => title.textContent()).toMatch(/^What the frame at 0\.\d\d\u202fs looks at$/);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("q=1");
    await go(page, "#overview");
    await close();
  });
});
