import { describe, expect, test } from "vitest";
import { format_number } from "../../src/chart/number_format";
import type { SimilarityRow } from "../../src/data/report_file";
import { holds_as_view, open_file, open_report, with_browser } from "./harness";
import { changed_report, kPartial, kTwoModels, kWhole, report_file, results_of } from "./sample_reports";

with_browser();

describe("similarity", () => {
  holds_as_view("#similarity");
  holds_as_view("#similarity?matrix=k&layers=0,5", kTwoModels);
  holds_as_view("#similarity", kPartial);

  test("moments at the crosshair match the results", async () => {
    const { page, close } = await open_report(kWhole, "#similarity");
    const rows = results_of(report_file(kWhole)).reports.find(({ id }) => id === "similarity")!.rows as SimilarityRow[];
    const chart = page.locator('[data-chart="similarity-std"]');
    await chart.locator("svg[tabindex]").focus();
    await page.keyboard.press("ArrowRight");
    for (const scope of ["within_head", "across_head"] as const) {
      const row = rows.find((each) => each.layer === 0 && each.matrix === "q" && each.scope === scope)!;
      await expect.poll(() => chart.locator(`[data-series="${scope}"] .legend-value`).textContent()).toBe(format_number(row.std, "tick"));
    }
    await close();
  });

  test("controls change the overlap matrices", async () => {
    const { page, close } = await open_report(kWhole, "#similarity");
    const titles = () => page.locator('[data-chart^="similarity-overlap-"].chart-heatmap h3').allTextContents();
    await expect.poll(() => titles()).toContain("WQ, layer 0");
    await page.getByRole("group", { name: "matrix" }).getByRole("button", { name: "WV" }).click();
    await expect.poll(() => titles()).toContain("WV, layer 0");
    await page.getByRole("group", { name: "Layers" }).getByRole("button", { name: "0", exact: true }).click();
    await expect.poll(() => titles()).not.toContain("WV, layer 0");
    await close();
  });

  test("a head has overlap 1 with itself, and a tooltip shows a cell", async () => {
    const { page, close } = await open_report(kWhole, "#similarity");
    const cell = page.locator('[data-chart="similarity-overlap-q-0"] [role="gridcell"][data-row="1"][data-column="1"]');
    await expect.poll(() => cell.getAttribute("aria-label")).toBe("head 1, head 1: 1.00");
    await cell.hover();
    await expect.poll(() => page.locator(".tip").textContent()).toBe("head 1, head 1: 1.00");
    await close();
  });

  test("commands are shown for missing overlaps and cosines", async () => {
    const { page, close } = await open_report(kPartial, "#similarity?l=2&h=1");
    const commands = await page.locator(".absent code").allTextContents();
    expect(commands).toContain("attnscope similarity MODEL --overlap");
    expect(commands).toContain("attnscope similarity MODEL --head-matrix 2,1 --matrix q --format csv");
    await close();
  });

  test("a skipped layer is empty and marked", async () => {
    const file = changed_report(kWhole, "similarity-skipped", (results) => {
      const similarity = results.reports.find(({ id }) => id === "similarity")!;
      similarity.rows = (similarity.rows as SimilarityRow[]).filter((row) => row.layer !== 3);
      for (const matrix of ["q", "k", "v"])
        similarity.skipped.push({ model: results.models[0]!.name, layer: 3, matrix, head: null, reason: "holds Inf" });
    });
    const { page, problems, close } = await open_file(file, "#similarity");
    await expect.poll(() => page.locator(".chart-laminar").first().textContent()).toContain("– skipped");
    await expect.poll(() => page.locator(".skipped").first().textContent()).toContain("holds Inf");
    expect(problems).toEqual([]);
    await close();
  });
});
