// Opens reports in Chromium directly from files, with tests that every view must pass.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kWhole, report_file, type Sample } from "./sample_reports";

const kChromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
// Timeout in milliseconds. Generous, because only failing tests wait this long and machines may be busy.
const kPatience = 60_000;

export type Theme = "light" | "dark";

/** A tab and its problems since it was opened. Tabs are reused, because a new one costs four times the CPU time of a page load. */
interface Tab {
  page: Page;
  problems: string[];
  allowed: string | undefined; // prefix of allowed requests
}

let browser: Browser | undefined;
const idle: Tab[] = [];

/** Starts the browser for a test file. */
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

/** Resets state between pages: stored theme, pointer position. */
async function hand_back(tab: Tab): Promise<void> {
  await tab.page.evaluate(() => localStorage.clear());
  await tab.page.mouse.move(0, 0);
  await tab.page.goto("about:blank");
  idle.push(tab);
}

export interface Opened {
  page: Page;
  problems: string[]; // errors, policy violations and requests
  close(): Promise<void>;
}

export interface OpenOptions {
  theme?: Theme;
  width?: number;
  height?: number;
}

/** Opens a report at a fragment such as "#heads?l=2". Resolves when the view is drawn. */
export const open_file = (file: string, fragment = "", options: OpenOptions = {}): Promise<Opened> =>
  open_address(pathToFileURL(file).href + fragment, options);

/** Opens the address in a tab, and waits until the view is drawn. Requests with the prefix `allowed` are allowed. */
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

/** Changes the state of the open page. */
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

/** Findings of axe-core: rule and elements. Without `rules`, all rules are checked. */
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

const kColorRules = ["color-contrast", "link-in-text-block"];

/**
 * Tests that every view must pass. It draws without errors, policy violations or requests. axe-core finds no problem in either theme
 * (themes differ only in colors). It does not scroll horizontally at widths from 360 to 3,840 pixels.
 */
export function holds_as_view(fragment: string, sample: Sample = kWhole): void {
  test(`${fragment} of ${sample.name}, light: draws, passes axe, and does not scroll horizontally`, async () => {
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
  test(`${fragment} of ${sample.name}, dark: draws, and colors pass axe`, async () => {
    const { page, problems, close } = await open_report(sample, fragment, { theme: "dark" });
    expect(await axe_findings(page, kColorRules)).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });
}

/** Number of Tab presses from the top of the page to an element. Throws after `limit`. */
export async function tabs_to(page: Page, selector: string, limit = 40): Promise<number> {
  for (let tabs = 1; tabs <= limit; ++tabs) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector)) return tabs;
  }
  throw new Error(`${selector} is not reached by ${limit} Tab presses`);
}
