import { describe, expect, test } from "vitest";
import type { CircuitsRow } from "../../src/data/report_file";
import { go, holds_as_view, open_report, tabs_to, with_browser } from "./harness";
import { kPartial, kTwoModels, kWhole, report_file, results_of } from "./sample_reports";

with_browser();

describe("heads", () => {
  holds_as_view("#heads");
  holds_as_view("#heads?m=0&l=3&h=4&from=2&pairs=head", kTwoModels);
  holds_as_view("#heads", kPartial);

  test("numbers in cells match the report", async () => {
    const { page, close } = await open_report(kWhole, "#heads?t=0.9");
    const { rows } = results_of(report_file(kWhole)).reports.find(({ id }) => id === "circuits")! as { rows: CircuitsRow[] };
    const row = rows.find((each) => each.circuit === "qk" && each.layer === 2 && each.head === 3)!;
    const label = (chart: string) => page.locator(`[data-chart="${chart}"] [data-row="2"][data-column="3"]`).getAttribute("aria-label");
    await expect.poll(() => label("heads-qk-rank")).toBe(`L2H3: ${row.energy_rank["0.9"]}`);
    await expect.poll(() => label("heads-overlap")).toBe(`L2H3: ${String(row.rank_drop["0.9"]).replace("-", "−")}`);
    const score = row.symmetry!.toFixed(2);
    expect((await label("heads-symmetry"))!.replace("−", "-")).toContain(Math.abs(Number(score)).toFixed(2));
    await close();
  });

  test("a cell selects a head with keys and pointer, and the address stores it", async () => {
    const { page, close } = await open_report(kWhole, "#heads?l=0&h=0");
    await expect.poll(() => page.locator(".heads-detail > h2").textContent()).toBe("L0H0");
    await tabs_to(page, '[data-chart="heads-qk-rank"] [role="gridcell"]');
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".heads-detail > h2").textContent()).toBe("L1H1");
    await page.locator('[data-chart="heads-copying"] [data-row="4"][data-column="2"]').click();
    await expect.poll(() => page.locator(".heads-detail > h2").textContent()).toBe("L4H2");
    await expect.poll(() => page.url()).toContain("l=4&h=2&from=3");
    await close();
  });

  test("details are next to the heatmaps if there is room, otherwise below the one that was used", async () => {
    const { page, close } = await open_report(kWhole, "#heads?l=1&h=1&from=3");
    const where = () =>
      page.evaluate(() => {
        const [detail, used] = [".heads-detail", '[data-chart="heads-copying"]'].map((each) =>
          document.querySelector(each)!.getBoundingClientRect(),
        ) as [DOMRect, DOMRect];
        const below = detail.top - used.bottom;
        return detail.left > used.right ? "next to" : below > 0 && below < 60 ? "below" : "elsewhere";
      });
    await expect.poll(where).toBe("next to");
    await page.setViewportSize({ width: 390, height: 900 });
    await expect.poll(where).toBe("below");
    await close();
  });

  test("pairs of one head differ from the strongest pairs", async () => {
    const { page, close } = await open_report(kWhole, "#heads?l=2&h=1");
    const curves = () =>
      page
        .locator('[data-chart^="heads-composition"] [data-edge]')
        .evaluateAll((edges) => edges.map((edge) => edge.getAttribute("d")).join());
    const all = await curves();
    await page.getByRole("button", { name: "Pairs with L2H1" }).click();
    await expect.poll(curves).not.toBe(all);
    await go(page, "#heads?l=2&h=1&t=0.6");
    await expect.poll(() => page.getByLabel("energy threshold").inputValue()).toBe("0.6");
    await close();
  });
});
