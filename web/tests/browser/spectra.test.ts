import { describe, expect, test } from "vitest";
import { format_number } from "../../src/chart/number_format";
import type { SpectrumRow } from "../../src/data/report_file";
import { holds_as_view, open_file, open_report, with_browser } from "./harness";
import { changed_report, kPartial, kTwoModels, kWhole, report_file, results_of } from "./sample_reports";

with_browser();

const kChart = '[data-chart^="spectra-"]:not([data-chart="spectra-components"])';

describe("spectra", () => {
  holds_as_view("#spectra");
  holds_as_view("#spectra?show=null&by=matrix");
  holds_as_view("#spectra?head=1&show=energy", kTwoModels);
  holds_as_view("#spectra", kPartial);

  test("controls change the chart and the address, and Back undoes it", async () => {
    const { page, close } = await open_report(kWhole, "#spectra");
    const title = () => page.locator(`${kChart} .chart-head h2`).textContent();
    await expect.poll(() => title()).toBe("Singular values");
    await page.getByRole("button", { name: "Relative to random" }).click();
    await expect.poll(() => title()).toBe("Spectra relative to random");
    await expect.poll(() => page.url()).toContain("#spectra?show=null");
    await page.goBack();
    await expect.poll(() => title()).toBe("Singular values");
    await page.getByLabel("head").selectOption("2");
    await expect.poll(() => title()).toBe("Singular values of head 2");
    await close();
  });

  test("axes, panels and layers change the chart", async () => {
    const { page, close } = await open_report(kWhole, "#spectra");
    const path = () => page.locator(`${kChart} .chart-body path`).nth(1).getAttribute("d");
    for (const [group, button] of [
      ["vertical axis", "linear"],
      ["horizontal axis", "log x"],
      ["panels", "By matrix"],
      ["Layers", "0"],
    ] as const) {
      const before = await path();
      await page.getByRole("group", { name: group }).getByRole("button", { name: button, exact: true }).click();
      await expect.poll(() => path(), { message: group }).not.toBe(before);
    }
    await close();
  });

  test("products are hidden by default, and the axis adapts when they are shown", async () => {
    const { page, close } = await open_report(kWhole, "#spectra");
    const lines = (series: string) => page.locator(`${kChart} .chart-body [data-series="${series}"]`);
    await expect.poll(() => lines("q").count()).toBeGreaterThan(0);
    await expect.poll(() => lines("qk").count()).toBe(0);
    const before = await lines("q").first().locator("path").getAttribute("d");
    await page.locator(`${kChart} .legend [data-series="qk"]`).click();
    await expect.poll(() => lines("qk").count()).toBeGreaterThan(0);
    await expect.poll(() => lines("q").first().locator("path").getAttribute("d")).not.toBe(before);
    await close();
  });

  test("another model shows its own lines", async () => {
    const { page, close } = await open_report(kTwoModels, "#spectra");
    const path = () => page.locator(".chart-lines .chart-body path").first().getAttribute("d");
    const first = await path();
    await page.getByLabel("model").selectOption("1");
    await expect.poll(() => path()).not.toBe(first);
    await close();
  });

  test("the crosshair's first stop shows the largest singular values", async () => {
    const { page, close } = await open_report(kWhole, "#spectra");
    await page.locator(".chart-lines svg[tabindex]").first().focus();
    await page.keyboard.press("ArrowRight");
    const rows = results_of(report_file(kWhole)).reports.find(({ id }) => id === "spectrum")!.rows as SpectrumRow[];
    for (const matrix of ["q", "v"]) {
      const { spectral_norm } = rows.find((row) => row.layer === 0 && row.matrix === matrix && row.head === null)!;
      await expect
        .poll(() => page.locator(`.legend [data-series="${matrix}"] .legend-value`).first().textContent())
        .toBe(format_number(spectral_norm, "tick"));
    }
    await close();
  });

  test("missing and skipped layers are explained", async () => {
    const file = changed_report(kWhole, "spectra-partial", (results) => {
      const spectrum = results.reports.find(({ id }) => id === "spectrum")!;
      const gone = (row: SpectrumRow) => row.layer === 1 || (row.layer === 2 && row.matrix === "q");
      spectrum.rows = (spectrum.rows as SpectrumRow[]).filter((row) => !gone(row));
      spectrum.skipped.push({ model: results.models[0]!.name, layer: 2, matrix: "q", head: null, reason: "holds NaN" });
    });
    const { page, problems, close } = await open_file(file, "#spectra?layers=0,1,2");
    await expect.poll(() => page.locator(`${kChart} .chart-body`).textContent()).toContain("not in this report");
    await expect.poll(() => page.locator(".skipped").textContent()).toContain("holds NaN");
    expect(problems).toEqual([]);
    await close();
  });
});
