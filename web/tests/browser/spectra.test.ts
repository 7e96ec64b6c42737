import { describe, expect, test } from "vitest";
import { holds_as_view, kPartial, kTwoModels, kWhole, open_report, with_browser } from "./harness";

with_browser();

describe("spectra", () => {
  holds_as_view("#spectra");
  holds_as_view("#spectra?show=null&by=matrix");
  holds_as_view("#spectra", kPartial);

  test("pickers change the chart and the address, and back undoes it", async () => {
    const { page, close } = await open_report(kWhole, "#spectra");
    expect(await page.locator(".chart-lines .chart-head h2").first().textContent()).toBe("Singular values");
    await page.getByRole("button", { name: "Against the null" }).click();
    expect(await page.locator(".chart-lines .chart-head h2").first().textContent()).toBe("Spectra against the null");
    expect(page.url()).toContain("#spectra?show=null");
    await page.goBack();
    expect(await page.locator(".chart-lines .chart-head h2").first().textContent()).toBe("Singular values");
    await close();
  });

  test("another model is another report's worth of lines", async () => {
    const { page, close } = await open_report(kTwoModels, "#spectra");
    const path = () => page.locator(".chart-lines .chart-body path").first().getAttribute("d");
    const first = await path();
    await page.getByLabel("model").selectOption("1");
    expect(await path()).not.toBe(first);
    await close();
  });

  test("arrows move the crosshair and the legend says the values at it", async () => {
    const { page, close } = await open_report(kWhole, "#spectra");
    await page.locator(".chart-lines svg[tabindex]").first().focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.locator('.legend [data-series="q"] .legend-value').first().textContent()).toMatch(/^\d/);
    await close();
  });
});
