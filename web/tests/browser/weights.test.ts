import { describe, expect, test } from "vitest";
import { format_number } from "../../src/chart/number_format";
import type { WeightsRow } from "../../src/data/report_file";
import { holds_as_view, open_file, open_report, with_browser } from "./harness";
import { changed_report, kTwoModels, kWhole, kWithoutWeights, report_file, results_of } from "./sample_reports";

with_browser();

const row_of = (layer: number, matrix: string, head: number | null): WeightsRow =>
  (results_of(report_file(kWhole)).reports.find(({ id }) => id === "weights")!.rows as WeightsRow[]).find(
    (row) => row.layer === layer && row.matrix === matrix && row.head === head,
  )!;

describe("weights", () => {
  holds_as_view("#weights");
  holds_as_view("#weights?matrix=k&l=2&head=1&y=log", kTwoModels);
  holds_as_view("#weights?models=all", kTwoModels);
  holds_as_view("#weights", kWithoutWeights);

  test("statistics match the results", async () => {
    const { page, close } = await open_report(kWhole, "#weights?matrix=v&l=1&head=3");
    const row = row_of(1, "v", 3);
    const figure = (name: string) => page.locator(`dl.facts dt:text-is("${name}") + dd`).textContent();
    await expect.poll(() => figure("mean")).toBe(format_number(row.mean, "tick"));
    await expect.poll(() => figure("standard deviation")).toBe(format_number(row.std, "tick"));
    await expect.poll(() => figure("excess kurtosis")).toBe(format_number(row.excess_kurtosis, "tick"));
    await expect.poll(() => figure("weights")).toBe(row.count.toLocaleString("en"));
    await expect.poll(() => figure("95% quantile")).toBe(format_number(row.quantiles["0.95"], "tick"));
    await close();
  });

  test("a heatmap cell selects layer and head, also with the keyboard", async () => {
    const { page, close } = await open_report(kWhole, "#weights");
    const histogram = page.locator(".chart-bars");
    const before = await histogram.locator(".chart-body path").first().getAttribute("d");
    await page.locator('.chart-heatmap [role="gridcell"][data-row="2"][data-column="3"]').first().click();
    await expect.poll(() => page.url()).toMatch(/l=2/);
    await expect.poll(() => page.url()).toMatch(/head=2/);
    await expect.poll(() => histogram.locator("h3").textContent()).toBe("WQ, L2H2");
    await expect.poll(() => histogram.locator(".chart-body path").first().getAttribute("d")).not.toBe(before);
    await page.locator('.chart-heatmap [role="gridcell"][tabindex="0"]').first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect.poll(() => histogram.locator("h3").textContent()).toBe("WQ, L3H2");
    await close();
  });

  test("controls change the charts", async () => {
    const { page, close } = await open_report(kTwoModels, "#weights");
    const laminars = () => page.locator(".chart-laminar").count();
    const one = await laminars();
    await page.getByRole("button", { name: "all models side by side" }).click();
    await expect.poll(() => laminars()).toBeGreaterThan(one);
    await page.getByRole("group", { name: "matrix" }).getByRole("button", { name: "down" }).click();
    await expect.poll(() => page.locator(".chart-bars h3").textContent()).toBe("down, layer 0");
    await page.getByLabel("layer", { exact: true }).selectOption("2");
    await expect.poll(() => page.locator(".chart-image h3").first().textContent()).toBe("WQ, layer 2");
    await close();
  });

  test("missing results are shown with a command", async () => {
    const without_images = changed_report(kWhole, "no-matrices", (results) => void (results.matrices = []));
    const { page, close } = await open_file(without_images, "#weights?l=1");
    await expect.poll(() => page.locator(".absent code").textContent()).toMatch(/^attnscope matrix MODEL --layer 1/);
    await close();
    const other = await open_report(kWithoutWeights, "#weights");
    await expect.poll(() => other.page.locator(".absent").first().textContent()).toContain("attnscope weights MODEL");
    await other.close();
  });
});
