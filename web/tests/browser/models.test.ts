import { describe, expect, test } from "vitest";
import type { Analysis, Model } from "../../src/data/report_file";
import { holds_as_view, open_file, open_report, with_browser } from "./harness";
import { changed_report, kTwoModels, kWhole } from "./sample_reports";

with_browser();

describe("models", () => {
  holds_as_view("#models", kTwoModels);

  test("the top bar lists the view for several models; otherwise it shows the command", async () => {
    const one = await open_report(kWhole, "#models");
    await expect.poll(() => one.page.locator(".absent code").textContent()).toContain("MODEL OTHER");
    await one.page.goto(one.page.url().replace(/#.*/, "#spectra"));
    await expect.poll(() => one.page.getByRole("navigation").getByText("Models").count()).toBe(0);
    await one.close();
    const two = await open_report(kTwoModels, "#spectra");
    await expect.poll(() => two.page.getByRole("navigation").getByText("Models").count()).toBe(1);
    await two.close();
  });

  test("the threshold changes the ranks, and the line of a model can be hidden", async () => {
    const { page, close } = await open_report(kTwoModels, "#models?t=0.99");
    const lines = page.locator('[data-chart="models-ranks"] .chart-body [data-series] path');
    const before = await lines.first().getAttribute("d");
    const count = await lines.count();
    await page.getByLabel("energy threshold").selectOption("0.6");
    await expect.poll(() => lines.first().getAttribute("d")).not.toBe(before);
    await page.locator('[data-chart="models-ranks"] .legend button').first().click();
    await expect.poll(() => lines.count()).toBeLessThan(count);
    await close();
  });

  test("revisions are plotted by training step", async () => {
    const names = ["step1000", "step64000"];
    const file = changed_report(kTwoModels, "revisions", (results) => {
      const old = results.models.map((model) => model.name);
      // The second revision is a copy of the first one's rows.
      results.models = names.map((name) => ({ ...(results.models[0] as Model), name }));
      results.reports = results.reports.map((each) => {
        const rows = (each as Analysis<{ model: string }>).rows.filter((row) => row.model === old[0]);
        return { ...each, rows: names.flatMap((model) => rows.map((row) => ({ ...row, model }))) };
      });
    });
    const { page, problems, close } = await open_file(file, "#models");
    await expect.poll(() => page.locator('[data-chart="models-steps"] h3').textContent()).toBe("Energy rank during training");
    expect(problems).toEqual([]);
    await close();
  });
});
