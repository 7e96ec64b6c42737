// Opens reports in Chromium, straight from their files, and holds what every view must hold.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kWhole, report_file, type Sample } from "./samples";

const kChromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
// Milliseconds for whatever a test waits for: only a test that fails waits so long, and a machine may be busy.
const kPatience = 60_000;

export type Theme = "light" | "dark";

let browser: Browser | undefined;

/** Starts the browser for a file of tests. */
export function with_browser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: kChromium, timeout: kPatience, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  });
  afterAll(() => browser?.close());
}

export interface Opened {
  page: Page;
  problems: string[]; // errors, policy violations and requests so far
  close(): Promise<void>;
}

export interface OpenOptions {
  theme?: Theme;
  width?: number;
  height?: number;
}

/** `fragment`: "#heads?l=2". Resolves when the view is drawn. */
export const open_file = (file: string, fragment = "", options: OpenOptions = {}): Promise<Opened> =>
  open_address(pathToFileURL(file).href + fragment, options);

/** Requests that begin with `allowed` are no problem. */
export async function open_address(
  address: string,
  { theme = "light", width = 1280, height = 900 }: OpenOptions = {},
  allowed?: string,
): Promise<Opened> {
  const context = await browser!.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" });
  context.setDefaultTimeout(kPatience);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url()) && !(allowed && request.url().startsWith(allowed)))
      problems.push(`request: ${request.url()}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.goto(address);
  await page.waitForFunction(
    () => document.querySelector("main")?.dataset.drawn !== undefined || document.querySelector("main.message"),
    null,
    { polling: 50 },
  );
  return { page, problems, close: () => context.close() };
}

export const open_report = (sample: Sample, fragment = "", options: OpenOptions = {}): Promise<Opened> =>
  open_file(report_file(sample), fragment, options);

/** Another state of the open page. */
export async function go(page: Page, fragment: string): Promise<void> {
  const drawn = await page.locator("main").getAttribute("data-drawn");
  await page.evaluate((hash) => void (location.hash = hash), fragment);
  await page.waitForFunction((before) => document.querySelector("main")?.dataset.drawn !== before, drawn, { polling: 50 });
}

export async function sideways(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds, of any grade: rule and the elements it is about. */
export async function axe_findings(page: Page): Promise<string[]> {
  await page.evaluate(kAxe);
  return page.evaluate(async () => {
    const axe = (
      globalThis as unknown as {
        axe: { run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }> };
      }
    ).axe;
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 4).map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`),
    );
  });
}

/**
 * What every view must hold, as tests: it draws without an error, a policy violation or a request; axe-core finds
 * nothing in either theme; it does not scroll sideways from 360 to 3,840 pixels.
 */
export function holds_as_view(fragment: string, sample: Sample = kWhole): void {
  for (const theme of ["light", "dark"] as const)
    test(`${fragment} of ${sample.name}, ${theme}: draws, and axe finds nothing`, async () => {
      const { page, problems, close } = await open_report(sample, fragment, { theme });
      expect(await axe_findings(page)).toEqual([]);
      expect(problems).toEqual([]);
      await close();
    });
  test(`${fragment} of ${sample.name}: no width scrolls sideways`, async () => {
    const { page, problems, close } = await open_report(sample, fragment);
    for (const width of [360, 390, 720, 1080, 1280, 1920, 2560, 3840]) {
      await page.setViewportSize({ width, height: 900 });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      expect(await sideways(page), `at ${width}`).toBeLessThanOrEqual(0);
    }
    expect(problems).toEqual([]);
    await close();
  });
}

/** How many tabs from the top of the page reach an element; throws after `limit`. */
export async function tabs_to(page: Page, selector: string, limit = 40): Promise<number> {
  for (let tabs = 1; tabs <= limit; ++tabs) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector)) return tabs;
  }
  throw new Error(`${limit} tabs do not reach ${selector}`);
}
