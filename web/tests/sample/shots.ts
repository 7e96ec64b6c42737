// Takes screenshots of views: npx vite-node tests/sample/shots.ts FILE.html OUT_DIR FRAGMENT…
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, out, ...fragments] = process.argv.slice(2);
if (!file || !out) throw new Error("usage: shots.ts FILE.html OUT_DIR FRAGMENT…");
const widths = (process.env.WIDTHS ?? "390,1280,2560").split(",").map(Number);
const themes = (process.env.THEMES ?? "light,dark").split(",") as ("light" | "dark")[];
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
for (const fragment of fragments)
  for (const width of widths)
    for (const theme of themes) {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: theme });
      page.on("console", (message) => console.log(fragment, width, message.text()));
      page.on("pageerror", (error) => console.log(fragment, width, error.message));
      await page.goto(pathToFileURL(file).href + fragment);
      await page.waitForFunction(() => document.querySelector("main")?.dataset.drawn, null, { polling: 50 });
      await page.screenshot({ path: `${out}/${fragment.replace(/\W+/g, "-").replace(/^-/, "")}-${width}-${theme}.png`, fullPage: true });
      await page.close();
    }
await browser.close();
