import { describe, expect, test } from "vitest";
import { holds_as_view, open_report, with_browser } from "./harness";
import { kPlanned, kWhole } from "./sample_reports";

with_browser();

describe("plan", () => {
  holds_as_view("#plan", kPlanned);
  holds_as_view("#plan?p=3", kPlanned);
  holds_as_view("#plan", kWhole);

  test("a row or a point selects the model whose commands are shown", async () => {
    const { page, close } = await open_report(kPlanned, "#plan");
    const commands = () => page.locator(".plan-commands code").allTextContents();
    await expect.poll(async () => (await commands())[0]).toContain("--method mlp --set mlp=691 -o plan.json");
    await expect.poll(() => page.locator('[data-chart="plan-cost"] circle.chosen').count()).toBe(1);
    await page.locator(".plan-menu").getByRole("link", { name: "depth" }).click();
    await expect
      .poll(() => commands())
      .toEqual([
        "attnscope plan examples/shakespeare-gpt2 --calibration-file book.txt --method depth --set remove-layers=3 -o plan.json",
        "attnscope shrink examples/shakespeare-gpt2 plan.json --calibration-file book.txt -o smaller",
      ]);
    await page.locator('[data-chart="plan-cost"] [data-series="low-rank"] circle:not(.chosen)').nth(1).click();
    await expect.poll(() => page.url()).toContain("p=3");
    await expect.poll(async () => (await commands())[0]).toContain("--method low-rank --keep 0.75");
    await expect.poll(() => page.locator(".plan-commands p").textContent()).toContain("Saves nothing in transformers");
    await page.goBack();
    await expect.poll(async () => (await commands())[0]).toContain("remove-layers=3");
    await close();
  });

  test("reports that no method saves cache", async () => {
    const { page, close } = await open_report(kPlanned, "#plan");
    await page.getByRole("group", { name: "saving" }).getByRole("button", { name: "KV cache" }).click();
    await expect.poll(() => page.locator("main .absent").first().textContent()).toBe("No method saves KV cache in this model.");
    await close();
  });

  test("a report without a plan shows the command, and the top bar omits the view", async () => {
    const { page, close } = await open_report(kWhole, "#plan");
    await expect.poll(() => page.locator("main .absent").textContent()).toContain("attnscope plan MODEL --calibration-file FILE");
    await page.evaluate(() => void (location.hash = "#data"));
    await expect.poll(() => page.locator("main h1").textContent()).toBe("Data");
    expect(await page.locator("nav").getByText("Plan", { exact: true }).count()).toBe(0);
    await close();
  });
});

describe("difference", () => {
  holds_as_view("#difference", kPlanned);
  holds_as_view("#difference", kWhole);

  test("ranks are those at the selected threshold, with adapter sizes at each threshold", async () => {
    const { page, close } = await open_report(kPlanned, "#difference?t=0.9");
    const label = (chart: string) => page.locator(`[data-chart="${chart}"] [data-row="0"][data-column="0"]`).getAttribute("aria-label");
    await expect.poll(() => label("diff-rank")).toBe("layer 0, matrix W_Q: 8%");
    await expect.poll(() => label("diff-base-rank")).toBe("layer 0, matrix W_Q: 31%");
    await expect.poll(() => page.locator('[aria-label="adapter sizes"] tbody tr').count()).toBe(4);
    await expect.poll(() => page.locator("main code").last().textContent()).toContain("--lora adapter");
    await close();
  });
});
