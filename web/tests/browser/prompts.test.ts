import { describe, expect, test } from "vitest";
import type { AblatePatchingRow, AblatePromptsRow } from "../../src/data/report_file";
import { effect_words } from "../../src/shaping/prompt_effects";
import { holds_as_view, open_report, with_browser } from "./harness";
import { kPrompts, kWhole, report_file, results_of } from "./sample_reports";

with_browser();

const rows_of = <Row>(id: string): Row[] => results_of(report_file(kPrompts)).reports.find((report) => report.id === id)!.rows as Row[];
const denoising = { direction: "denoising", is_share: true } as const;

describe("prompts", () => {
  holds_as_view("#prompts", kPrompts);

  test("tooltips match the report", async () => {
    const { page, close } = await open_report(kPrompts, "#prompts");
    const label = (chart: string, row: number, column: number) =>
      page.locator(`[data-chart="${chart}"] [data-row="${row}"][data-column="${column}"]`).getAttribute("aria-label");
    const head = rows_of<AblatePromptsRow>("ablate_prompts").find((row) => row.layer === 0 && row.head === 1)!;
    await expect.poll(() => label("prompts-heads-denoising", 0, 1)).toBe(`L0H1: ${effect_words(head, denoising)}`);
    const stream = rows_of<AblatePatchingRow>("ablate_patching").find((row) => row.component === "resid_pre" && row.token === "pronoun")!;
    await expect.poll(() => label("patching-resid_pre", 0, 1)).toBe(`layer 0, position pronoun: ${effect_words(stream, denoising)}`);
    await close();
  });

  test("a selected head opens the view of heads", async () => {
    const { page, close } = await open_report(kPrompts, "#prompts");
    await page.locator('[data-chart="prompts-heads-noising"] [data-row="2"][data-column="3"]').click();
    await expect.poll(() => page.evaluate(() => location.hash)).toBe("#heads?l=2&h=3");
    await close();
  });

  test("are listed only in reports that have them", async () => {
    const { page, close } = await open_report(kWhole, "#overview");
    expect(await page.locator("nav").textContent()).not.toContain("Prompts");
    await close();
  });
});
