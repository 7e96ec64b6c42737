// Opens reports in Chromium, straight from their files, and holds what every view must hold.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kWhole, report_file, type Sample } from "./sample_reports";

const kChromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
// Milliseconds for whatever a test waits for: only a test that fails waits so long, and a machine may be busy.
const kPatience = 60_000;

export type Theme = "light" | "dark";

/** A tab and what went wrong in it since it was opened. Tabs are used again: a new one costs four times the CPU time of a page load. */
interface Tab {
  page: Page;
  problems: string[];
  allowed: string | undefined; // requests that begin with it are no problem
}

let browser: Browser | undefined;
const idle: Tab[] = [];

/** Starts the browser for a file of tests. */
export function with_browser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: kChromium, timeout: kPatience, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  });
  afterAll(() => browser?.close());
}

async function new_tab(): Promise<Tab> {
  const context = await browser!.newContext();
  context.setDefaultTimeout(kPatience);
  const page = await context.newPage();
  const tab: Tab = { page, problems: [], allowed: undefined };
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") tab.problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => tab.problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(about|file|data|blob):/.test(request.url()) && !(tab.allowed && request.url().startsWith(tab.allowed)))
      tab.problems.push(`request: ${request.url()}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  return tab;
}

/** Leaves nothing of the last page to the next: no stored theme, no pointer above a chart. */
async function hand_back(tab: Tab): Promise<void> {
  await tab.page.evaluate(() => localStorage.clear());
  await tab.page.mouse.move(0, 0);
  await tab.page.goto("about:blank");
  idle.push(tab);
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

/** Opens the address in a tab, and waits until the view is drawn. Requests that begin with `allowed` are no problem. */
export async function open_address(
  address: string,
  { theme = "light", width = 1280, height = 900 }: OpenOptions = {},
  allowed?: string,
): Promise<Opened> {
  const tab = idle.pop() ?? (await new_tab());
  Object.assign(tab, { problems: [], allowed });
  const { page, problems } = tab;
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.goto(address);
  await page.waitForFunction(
    () => document.querySelector("main")?.dataset.drawn !== undefined || document.querySelector("main.message"),
    null,
    { polling: 50 },
  );
  return { page, problems, close: () => hand_back(tab) };
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

interface Axe {
  run(options: object): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>;
}

/** What axe-core finds: rule and the elements it is about. Without `rules`, by all of them. */
export async function axe_findings(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(kAxe);
  return page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run({ resultTypes: ["violations"], ...(only ? { runOnly: only } : {}) });
    return violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 4).map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`),
    );
  }, rules);
}

const kRulesOfColours = ["color-contrast", "link-in-text-block"];

/**
 * What every view must hold, as tests: it draws without an error, a policy violation or a request; axe-core finds nothing in either theme,
 * between which only colours differ; it does not scroll sideways from 360 to 3,840 pixels.
 */
export function holds_as_view(fragment: string, sample: Sample = kWhole): void {
  test(`${fragment} of ${sample.name}, light: draws, axe finds nothing, and no width scrolls sideways`, async () => {
    const { page, problems, close } = await open_report(sample, fragment);
    expect(await axe_findings(page)).toEqual([]);
    for (const width of [360, 390, 720, 1080, 1280, 1920, 2560, 3840]) {
      await page.setViewportSize({ width, height: 900 });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      expect(await sideways(page), `at ${width}`).toBeLessThanOrEqual(0);
    }
    expect(problems).toEqual([]);
    await close();
  });
  test(`${fragment} of ${sample.name}, dark: draws, and axe finds nothing in the colours`, async () => {
    const { page, problems, close } = await open_report(sample, fragment, { theme: "dark" });
    expect(await axe_findings(page, kRulesOfColours)).toEqual([]);
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
