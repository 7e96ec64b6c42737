// Measures the drawing time of reports: npx vite-node tests/sample/times.ts FILE.html…
// Prints medians over five fresh pages, from navigation until the overview is drawn, at normal CPU speed and slowed down 4×.
// Then measures each view, starting from the previous one.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { kViews } from "../../src/views/views";

const kRuns = 5;

const median = (numbers: number[]): number => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
const drawn = () => document.querySelector("main")?.dataset.drawn !== undefined;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
for (const file of process.argv.slice(2)) {
  const url = pathToFileURL(resolve(file)).href;
  const opened: Record<number, number[]> = { 1: [], 4: [] };
  const views = new Map<string, number[]>();
  for (const rate of [1, 4])
    for (let run = 0; run < kRuns; ++run) {
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      const session = await page.context().newCDPSession(page);
      await session.send("Emulation.setCPUThrottlingRate", { rate });
      await page.goto(url);
      await page.waitForFunction(drawn, null, { polling: 10 });
      opened[rate]!.push(await page.evaluate(() => performance.now()));
      for (const view of rate === 1 ? kViews : []) {
        const took = await page.evaluate(
          async (id) => {
            const main = document.querySelector("main")!;
            const before = main.dataset.drawn;
            const start = performance.now();
            location.hash = id;
            while (main.dataset.drawn === before) await new Promise((done) => setTimeout(done, 2));
            return performance.now() - start;
          },
          view.id === "overview" ? "overview?t=0.9" : view.id,
        );
        views.set(view.id, [...(views.get(view.id) ?? []), took]);
      }
      await page.close();
    }
  console.log(
    `${file}: ${(statSync(file).size / 1e6).toFixed(2)} MB, drawn after ${median(opened[1]!).toFixed(0)} ms, slowed four times ` +
      `${median(opened[4]!).toFixed(0)} ms`,
  );
  for (const [id, times] of views) console.log(`  ${id}: ${median(times).toFixed(0)} ms`);
}
await browser.close();
