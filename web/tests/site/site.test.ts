// Tests every page of the documentation site (./dev docs) in Chromium, from a local server.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { extname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

const kRoot = resolve(fileURLToPath(import.meta.url), "../../../..");
const kSite = resolve(process.env.SITE ?? join(kRoot, "build/site/html"));
const kProgram = resolve(process.env.ATTNSCOPE ?? join(kRoot, "build/release/attnscope"));
const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const kTypes: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
};

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? files(path) : [path];
  });
}

// Gallery reports have their own tests, and 404.html refers to files from the root of the host.
const kPages = files(kSite)
  .filter((path) => path.endsWith(".html") && !path.endsWith("404.html") && readFileSync(path, "utf8").includes("md-content"))
  .map((path) => relative(kSite, path));

let server: Server;
let browser: Browser;
let origin: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = join(kSite, decodeURIComponent(new URL(request.url ?? "/", "http://site").pathname));
    if (!path.startsWith(kSite) || !existsSync(path) || !statSync(path).isFile()) return void response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": kTypes[extname(path)] ?? "application/octet-stream" });
    createReadStream(path).pipe(response);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
});

afterAll(async () => {
  await browser?.close();
  server?.close();
});

async function opened(path: string): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext({ colorScheme: "light", reducedMotion: "reduce" });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url())) problems.push(`request: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) problems.push(`${response.status()}: ${response.url()}`);
  });
  await page.goto(`${origin}/${path}`, { waitUntil: "load" });
  return { page, problems };
}

/** Findings of axe, optionally for the given rules only. */
async function axe_findings(page: Page, rules?: string[]): Promise<string[]> {
  return page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(where: object, how: object): Promise<{ violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run({ exclude: ["iframe"] }, { resultTypes: ["violations"], ...(only ? { runOnly: only } : {}) });
    return violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 2).map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`),
    );
  }, rules);
}

test("the site has pages", () => expect(kPages.length).toBeGreaterThan(40));

test.each(kPages)("%s: no errors, no requests to other hosts, passes axe in light and dark", async (path) => {
  const { page, problems } = await opened(path);
  await page.addStyleTag({ content: "* { transition: none !important }" }); // avoid colors in transition
  await page.evaluate(kAxe);
  const found = await axe_findings(page);
  await page.evaluate(() => document.body.setAttribute("data-md-color-scheme", "slate"));
  found.push(...(await axe_findings(page, ["color-contrast"])).map((finding) => `dark: ${finding}`));
  expect(found).toEqual([]);
  expect(problems).toEqual([]);
  await page.context().close();
});

test("search finds an error message", async () => {
  const { page, problems } = await opened("index.html");
  await page.keyboard.press("/");
  await page.locator(".md-search__input").fill("give torch.save its state_dict");
  await page.locator(".md-search-result__item a").first().waitFor({ timeout: 60_000 });
  const found = await page
    .locator(".md-search-result__item a")
    .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).pathname));
  expect(found.some((path) => path.endsWith("/reference/errors.html"))).toBe(true);
  expect(problems).toEqual([]);
  await page.context().close();
});

test("live reports are drawn in the gallery", async () => {
  const { page, problems } = await opened("gallery/index.html");
  await page.locator("iframe.report").first().scrollIntoViewIfNeeded();
  await page.frameLocator("iframe.report").first().locator("main[data-drawn]").waitFor({ timeout: 60_000 });
  expect(problems).toEqual([]);
  await page.context().close();
});

test("examples match the built program", async () => {
  const digest = createHash("sha256").update(readFileSync(kProgram)).digest("hex");
  expect(readFileSync(join(kSite, "program.txt"), "utf8")).toContain(digest);
  const printed = execFileSync(kProgram, ["spectrum", "examples/shakespeare-llama"], {
    cwd: kRoot,
    env: { ...process.env, COLUMNS: "100" },
  });
  const { page } = await opened("reference/commands/spectrum.html");
  const shown = await page.locator("pre code").allTextContents();
  expect(shown.map((text) => text.trimEnd())).toContain(printed.toString().trimEnd());
  await page.context().close();
});
