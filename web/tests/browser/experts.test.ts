import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { format_number } from "../../src/chart/number_format";
import type { RoutingRow, SpectrumRow } from "../../src/data/report_file";
import { holds_as_view, open_file, open_report, with_browser } from "./harness";
import { block_of, changed_report, kMixture, kMixtureOnly, kWhole, report_file, results_of } from "./sample_reports";

with_browser();

const rows_of = <Row>(id: string): Row[] => results_of(report_file(kMixture)).reports.find((report) => report.id === id)!.rows as Row[];

describe("experts", () => {
  holds_as_view("#experts", kMixture);
  holds_as_view("#experts?matrix=down&l=2", kMixture);
  holds_as_view("#experts", kMixtureOnly);

  test("numbers in cells match the report", async () => {
    const { page, close } = await open_report(kMixture, "#experts?matrix=up");
    const label = (chart: string, row: number, column: number) =>
      page.locator(`[data-chart="${chart}"] [data-row="${row}"][data-column="${column}"]`).getAttribute("aria-label");
    const routing = rows_of<RoutingRow>("routing").find(({ layer }) => layer === 1)!;
    const values = block_of(readFileSync(report_file(kMixture), "utf8"), "values");
    const load = routing.load as { at: number };
    for (let expert = 0; expert < routing.experts; ++expert) {
      const share = Array.isArray(load) ? (load[expert] as number) : values.readFloatLE(4 * (load.at + expert));
      const times_uniform = routing.experts * share;
      await expect.poll(() => label("expert-load", 1, expert)).toBe(`layer 1, expert ${expert}: ${format_number(times_uniform, ".2f")}`);
    }
    const spectrum = rows_of<SpectrumRow>("expert_spectra").find((row) => row.matrix === "up" && row.layer === 2 && row.expert === 3)!;
    const share = spectrum.energy_rank["0.9"]! / spectrum.max_possible_rank;
    await expect.poll(() => label("expert-rank-up", 2, 3)).toBe(`layer 2, expert 3: ${format_number(share, "percent")}`);
    await close();
  });

  test("a layer in the load chart selects its coactivation, with keys and pointer, and the address stores it", async () => {
    const { page, close } = await open_report(kMixture, "#experts");
    const title = () => page.locator('[data-chart^="experts-together"] .chart-head :is(h2, h3)').textContent();
    await expect.poll(() => title()).toBe("Coactivation of experts, layer 0");
    await page.locator('[data-chart="expert-load"] [data-row="2"][data-column="1"]').click();
    await expect.poll(() => title()).toBe("Coactivation of experts, layer 2");
    await expect.poll(() => page.url()).toContain("l=2");
    await page.locator('[data-chart="expert-load"] [role="gridcell"][tabindex="0"]').focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await expect.poll(() => title()).toBe("Coactivation of experts, layer 1");
    await page.goBack();
    await expect.poll(() => title()).toBe("Coactivation of experts, layer 2");
    await close();
  });

  test("selecting a matrix shows its heatmap of ranks", async () => {
    const { page, close } = await open_report(kMixture, "#experts");
    await expect.poll(() => page.locator('[data-chart="expert-rank-gate"]').count()).toBe(1);
    await page.getByRole("group", { name: "matrix" }).getByRole("button", { name: "down" }).click();
    await expect.poll(() => page.locator('[data-chart="expert-rank-down"]').count()).toBe(1);
    await expect.poll(() => page.url()).toContain("matrix=down");
    await close();
  });

  test("missing results and skipped layers are explained", async () => {
    const { page, close } = await open_report(kMixtureOnly, "#experts");
    await expect.poll(() => page.locator("main").textContent()).toContain("load of each expert");
    await expect.poll(() => page.locator('[data-chart="expert-load"]').count()).toBe(0);
    await close();
    const skipped = changed_report(kMixture, "mixture-skipped", (results) => {
      const ranks = results.reports.find(({ id }) => id === "expert_spectra")!;
      ranks.rows = (ranks.rows as SpectrumRow[]).filter((row) => row.layer !== 1);
      ranks.skipped.push({ model: results.models[0]!.name, layer: 1, matrix: "gate", head: null, reason: "holds NaN" });
    });
    const opened = await open_file(skipped, "#experts");
    await expect.poll(() => opened.page.locator(".skipped").first().textContent()).toContain("holds NaN");
    expect(opened.problems).toEqual([]);
    await opened.close();
  });

  test("a model without experts has no Experts view in the top bar", async () => {
    const { page, close } = await open_report(kWhole, "#overview");
    await expect.poll(() => page.getByRole("link", { name: "Experts" }).count()).toBe(0);
    await close();
  });
});
