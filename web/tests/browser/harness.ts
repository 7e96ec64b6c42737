// Opens reports in Chromium, straight from their files, and holds what every view must hold.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReportFile } from "../../src/data/report_file";

export const kWeb = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const kBinary = process.env.ATTNSCOPE ?? resolve(kWeb, "../build/release/attnscope");
const kChromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const kText = resolve(kWeb, "../README.md");

export const kTemplate = `${kWeb}/dist/report.html`;

export type Theme = "light" | "dark";

export interface Sample {
  name: string; // of the file
  models: readonly string[]; // below examples/, or absolute
  without?: readonly string[]; // ids of analyses
}

export const kWhole: Sample = { name: "whole", models: ["shakespeare-gpt2"] };
export const kTwoModels: Sample = { name: "two", models: ["shakespeare-llama", "shakespeare-gpt2"] };
export const kPartial: Sample = { name: "partial", models: ["shakespeare-llama"], without: ["spectrum", "circuits", "overlap", "maps"] };

const made = new Map<string, string>();

const kResults = /(<script type="application\/gzip;base64" id="results">)([^<]*)/;

/** What a report's file holds, without its arrays. */
export const results_of = (file: string): ReportFile =>
  JSON.parse(gunzipSync(Buffer.from(kResults.exec(readFileSync(file, "utf8"))![2]!, "base64")).toString()) as ReportFile;

/** The page with its results changed. */
function with_results(page: string, change: (file: ReportFile) => void): string {
  const results = JSON.parse(gunzipSync(Buffer.from(kResults.exec(page)![2]!, "base64")).toString()) as ReportFile;
  change(results);
  return page.replace(kResults, (_, head: string) => head + gzipSync(JSON.stringify(results)).toString("base64"));
}

/**
 * The file of a sample report, made once in a run of the tests: the program's data in the page of dist/, which may be
 * newer than the one in the program.
 */
export function report_file(sample: Sample): string {
  const known = made.get(sample.name);
  if (known) return known;
  if (!existsSync(kBinary)) throw new Error(`no program at ${kBinary}: build it, or set ATTNSCOPE`);
  mkdirSync(`${kWeb}/build`, { recursive: true });
  const file = `${kWeb}/build/${sample.name}.html`;
  const models = sample.models.map((model) => (model.startsWith("/") ? model : resolve(kWeb, "../examples", model)));
  execFileSync(kBinary, ["report", ...models, "--text-file", kText, "--length", "48", "--sequences", "8", "--quiet", "--out", file]);
  const written = readFileSync(file, "utf8");
  let page = readFileSync(`${kWeb}/dist/report.html`, "utf8");
  for (const id of ["results", "values", "maps"]) page = page.replace(`@@${id}@@`, () => new RegExp(`id="${id}">([^<]*)`).exec(written)![1]!);
  const without = new Set(sample.without ?? []);
  if (without.size > 0)
    page = with_results(page, (results) => {
      results.reports = results.reports.filter(({ id }) => !without.has(id));
      if (without.has("maps")) results.maps = results.cosines = [];
    });
  writeFileSync(file, page);
  made.set(sample.name, file);
  return file;
}

let browser: Browser | undefined;

/** Starts the browser for a file of tests. */
export function with_browser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: kChromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
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
export const open_file = (file: string, fragment = "", options: OpenOptions = {}): Promise<Opened> => open_address(pathToFileURL(file).href + fragment, options);

/** Requests that begin with `allowed` are no problem. */
export async function open_address(address: string, { theme = "light", width = 1280, height = 900 }: OpenOptions = {}, allowed?: string): Promise<Opened> {
  const context = await browser!.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url()) && !(allowed && request.url().startsWith(allowed))) problems.push(`request: ${request.url()}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.goto(address);
  await page.waitForFunction(() => document.querySelector("main")?.dataset.drawn !== undefined || document.querySelector("main.message"), null, { polling: 50 });
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
    const axe = (globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }> } }).axe;
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.slice(0, 4).map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`));
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

/** A copy of a sample's file with its results changed. */
export function changed_report(sample: Sample, name: string, change: (file: ReportFile) => void): string {
  const file = `${kWeb}/build/${name}.html`;
  writeFileSync(file, with_results(readFileSync(report_file(sample), "utf8"), change));
  return file;
}
