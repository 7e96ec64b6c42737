import { describe, expect, test } from "vitest";
import { holds_as_view, open_report, with_browser } from "./harness";
import { kWhole } from "./sample_reports";

with_browser();

describe("data", () => {
  holds_as_view("#data");

  test("a column sorts in both directions, and a search filters the rows", async () => {
    const { page, close } = await open_report(kWhole, "#data?table=spectrum");
    const heading = page.getByRole("columnheader", { name: "spectral norm" });
    await heading.getByRole("button").click();
    await expect.poll(() => page.getByRole("columnheader", { name: /spectral norm/ }).getAttribute("aria-sort")).toBe("ascending");
    const all = await page.locator("tbody tr").count();
    await page.getByLabel("search rows").fill("down");
    await expect.poll(() => page.locator("tbody tr").count()).toBeLessThan(all);
    await close();
  });
});
