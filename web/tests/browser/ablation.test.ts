import { describe, expect, test } from "vitest";
import type { AblateRow, LensGridRow, DirectionsRow } from "../../src/data/report_file";
import { correlation_words } from "../../src/page/direction_lists";
import { holds_as_view, open_report, with_browser } from "./harness";
import { kWhole, report_file, results_of } from "./sample_reports";

with_browser();

const rows_of = <Row>(id: string): Row[] => results_of(report_file(kWhole)).reports.find((report) => report.id === id)!.rows as Row[];

describe("importance", () => {
  holds_as_view("#ablation");

  test("a selected head shows its effect, attention map and singular vectors", async () => {
    const { page, close } = await open_report(kWhole, "#ablation");
    await page.locator('[data-chart="ablation-heads"] [data-row="0"][data-column="2"]').click();
    const part = page.locator("aside");
    await expect.poll(() => part.getAttribute("aria-label")).toBe("L0H2");
    const worth = rows_of<AblateRow>("ablate").find((row) => row.layer === 0 && row.head === 2)!;
    expect(await part.textContent()).toContain(
      `${Math.abs(worth.loss_increase).toFixed(3)} ±${worth.loss_increase_error!.toFixed(3)} nats`,
    );
    expect(await part.locator('[data-chart="head-map"]').count()).toBe(1);
    const lists = rows_of<DirectionsRow>("directions").filter((row) => row.layer === 0 && row.head === 2);
    expect(lists).toHaveLength(12); // three directions, both signs of input and output vectors
    expect(await part.locator(".direction-list").count()).toBe(12);
    expect(await part.locator(".direction-list.unnamed").count()).toBe(lists.filter((row) => !row.named).length);
    const shares = await part.locator(".direction-share").allTextContents();
    const held = lists.filter((row) => row.singular_vector === "input" && row.sign === "+").map((row) => row.text_correlation);
    expect(held.every((hold) => typeof hold === "number")).toBe(true); // the report has a text
    shares.forEach((share, index) => expect(share).toContain(` · ${correlation_words(held[index]!)}`));
    await close();
  });

  test("each token has a prediction at every layer", async () => {
    const { page, close } = await open_report(kWhole, "#ablation");
    const grid = page.locator('[data-chart="lens-grid"]');
    const rows = rows_of<LensGridRow>("lens_grid");
    expect(rows).toHaveLength(24 * 7);
    const last = rows.find((row) => row.position === 23 && row.state === "resid_post")!;
    expect(last.rank).toBe(1);
    await expect
      .poll(() => grid.locator('[data-row="23"][data-column="6"]').getAttribute("aria-label"))
      .toMatch(/^token 23 .*, layer 6: “.+”, rank of the final prediction: 1$/);
    await close();
  });
});
