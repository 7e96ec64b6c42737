// The served page with a mock of `attnscope serve` that returns prepared results.
import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import type { ReportFile } from "../../src/data/report_file";
import { axe_findings, open_address, with_browser, type Opened } from "./harness";
import { kTemplate, kWhole, report_file } from "./sample_reports";

with_browser();

interface Served {
  address: string;
  asked: string[]; // "POST /api/attention {…}"
  /** Sends a job event to the page; `done` adds the missing results. */
  happens(job: number, what: string, state: string, more?: object): Promise<void>;
  server: Server;
}

const kBlock = (id: string) => new RegExp(`id="${id}">([^<]*)`);

/**
 * The report is complete except for the map of L1H1, which is a thumbnail, and the parts in `without` until they are run. Without "texts",
 * the texts belong to another model.
 */
async function serve(without: string[]): Promise<Served> {
  const page = readFileSync(report_file(kWhole), "utf8");
  const block = (id: string) => gunzipSync(Buffer.from(kBlock(id).exec(page)![1]!, "base64"));
  const all = JSON.parse(block("results").toString()) as ReportFile;
  const thumbnail = all.maps.find((map) => map.layer === 1 && map.head === 1)!;
  const tokens = thumbnail.tokens;
  Object.assign(thumbnail, { side: 16, causal: false });
  const missing = new Set(without);
  let stream: ServerResponse | undefined;
  const asked: string[] = [];
  let [jobs, revision] = [0, 1];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      const path = request.url!.split("?")[0]!;
      if (request.method !== "GET") asked.push(`${request.method} ${path} ${body}`.trim());
      const json = (value: unknown, status = 200) =>
        response.writeHead(status, { "Content-Type": "application/json", "Attnscope-Revision": "1" }).end(JSON.stringify(value));
      const bytes = (value: Buffer) => response.writeHead(200, { "Content-Type": "application/octet-stream" }).end(value);
      if (path === "/")
        response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(
          readFileSync(kTemplate, "utf8")
            .replace("connect-src 'none'", "connect-src 'self'")
            .replace(/@@(results|values|maps)@@/g, ""),
        );
      else if (path === "/api/results")
        json({
          ...all,
          revision,
          reports: all.reports.filter(({ id }) => !missing.has(id)),
          maps: missing.has("maps") ? [] : all.maps,
          texts: missing.has("texts") ? all.texts.map((text) => ({ ...text, model: "another" })) : all.texts,
        });
      else if (path === "/api/values") bytes(block("values"));
      else if (path === "/api/maps") bytes(block("maps"));
      else if (path === "/api/maps/0/1/1")
        bytes(
          Buffer.from(
            Float32Array.from({ length: tokens * tokens }, (_, index) => (index % tokens === Math.floor(index / tokens) ? 1 : 0)).buffer,
          ),
        );
      else if (path === "/api/analyses" && body.includes("circuits") && asked.filter((each) => each.includes("analyses")).length === 1)
        json({ error: { kind: "busy", message: "other work waits already" } }, 429);
      else if (request.method === "POST") json({ job: ++jobs }, 202);
      else if (request.method === "DELETE") json({ job: jobs, state: "cancelled" }, 202);
      else if (path === "/api/events") {
        response.writeHead(200, { "Content-Type": "text/event-stream" }).write(event({ revision, jobs: [] }));
        stream = response;
      } else json({ error: { kind: "not_found", message: "there is nothing at this path" } }, 404);
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked,
    server,
    async happens(job, what, state, more = {}) {
      await expect.poll(() => stream !== undefined).toBe(true);
      if (state === "done") {
        missing.clear();
        ++revision;
      }
      stream?.write(event({ revision, jobs: [{ job, what, state, ...more }] }));
    },
  };
}

const event = (data: object) => `event: change\ndata: ${JSON.stringify(data)}\n\n`;
const opened: { served: Served; view: Opened }[] = [];

async function open(fragment: string, ...without: string[]): Promise<{ served: Served; view: Opened }> {
  const served = await serve(without);
  const view = await open_address(served.address + fragment, {}, served.address);
  opened.push({ served, view });
  return { served, view };
}

afterEach(async () => {
  for (const { served, view } of opened.splice(0)) {
    await view.close();
    served.server.closeAllConnections();
    served.server.close();
  }
});

describe("the served page", () => {
  test("runs a text with progress and shows its maps", async () => {
    const {
      served,
      view: { page, problems },
    } = await open("#attention", "attention", "attention_excluding_first", "maps");
    await expect.poll(() => page.locator("main").textContent()).toContain("No attention maps yet");
    await page.getByLabel("text to run").fill("To be, or not to be");
    await page.getByLabel("layers to run").selectOption("2");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const body = { model: "shakespeare-gpt2", text: "To be, or not to be", exclude_first_token: true, layers: "2" };
    await expect.poll(() => served.asked).toEqual([`POST /api/attention ${JSON.stringify(body)}`]);
    await expect.poll(() => page.locator(".job-said").first().textContent()).toBe("starting");
    await served.happens(1, "attention", "running", { progress: { done: 2, total: 6, seconds: 1, seconds_left: 3.2 } });
    await expect.poll(() => page.locator(".job-said").first().textContent()).toBe("2 of 6, about 3 s left");
    await expect.poll(() => page.locator(".live progress").getAttribute("value")).toBe("2");
    await served.happens(1, "attention", "done");
    await page.waitForSelector('[data-chart="attention-wall"]');
    await expect.poll(() => page.getByLabel("text to run").inputValue()).toBe("To be, or not to be");
    expect(await axe_findings(page)).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("cancels a job, and shows why a job failed", async () => {
    const {
      served,
      view: { page, problems },
    } = await open("#attention");
    const run = page.getByRole("button", { name: "Run", exact: true });
    await expect.poll(() => run.isDisabled()).toBe(true);
    await page.getByLabel("text to run").fill("x");
    await run.click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await expect.poll(() => served.asked.slice(1)).toEqual(["DELETE /api/jobs/1"]);
    await run.click();
    await expect.poll(() => served.asked.length).toBe(3);
    await served.happens(2, "attention", "failed", { error: { kind: "usage", message: "the text has no tokens <b>" } });
    await expect.poll(() => page.locator(".job-said.failed").textContent()).toBe("the text has no tokens <b>");
    await expect.poll(() => run.isVisible()).toBe(true);
    expect(problems).toEqual([]);
  });

  test("starts a missing analysis and shows a rejection", async () => {
    const {
      served,
      view: { page },
    } = await open("#heads", "circuits", "spectrum");
    const run = page.locator(".absent").getByRole("button", { name: "Run" });
    await run.click();
    await expect.poll(() => page.locator(".job-said.failed").textContent()).toBe("other work waits already");
    await run.click();
    await expect.poll(() => served.asked).toEqual(['POST /api/analyses {"id":"circuits"}', 'POST /api/analyses {"id":"circuits"}']);
    await served.happens(1, "circuits", "done");
    await page.waitForSelector('[data-chart="heads-qk-rank"]');
  });

  test("a text file is run in windows", async () => {
    const {
      served,
      view: { page, problems },
    } = await open("#ablation", "ablate");
    const run = page.locator(".live").getByRole("button", { name: "Run", exact: true });
    expect(await run.getAttribute("title")).toBe("Ctrl+Enter");
    await page.getByLabel("input type").selectOption("file");
    await expect.poll(() => page.getByLabel("text to run").isHidden()).toBe(true);
    expect(await run.isDisabled()).toBe(true);
    const choose = (name: string, buffer: Buffer) =>
      page.getByLabel("text file to run").setInputFiles({ name, mimeType: "text/plain", buffer });
    await choose("no.txt", Buffer.from([0x61, 0xff]));
    await expect.poll(() => page.locator(".live-file .note").textContent()).toBe("no.txt: not valid UTF-8.");
    expect(await run.isDisabled()).toBe(true);
    await choose("book.txt", Buffer.from("Wé"));
    await expect.poll(() => run.isEnabled()).toBe(true);
    await choose("long.txt", Buffer.alloc((4 << 20) + 1, "x"));
    await expect.poll(() => page.locator(".live-file .note").textContent()).toBe("long.txt: larger than the limit of 4 MiB.");
    expect(await run.isDisabled(), "the previous file is discarded").toBe(true);
    expect(await run.getAttribute("title"), "no shortcut for files").toBe("");
    await choose("book.txt", Buffer.from("Wé"));
    await expect.poll(() => run.isEnabled()).toBe(true);
    expect(await axe_findings(page)).toEqual([]);
    await run.click();
    const body = { model: "shakespeare-gpt2", long_text: "Wé", exclude_first_token: true };
    await expect.poll(() => served.asked).toEqual([`POST /api/attention ${JSON.stringify(body)}`]);
    await page.getByLabel("input type").selectOption("text");
    await expect.poll(() => page.getByLabel("text to run").isVisible()).toBe(true);
    expect(problems).toEqual([]);
  });

  test("ablation has its own Run button once there is a text", async () => {
    const {
      served,
      view: { page },
    } = await open("#ablation", "ablate");
    await page.locator(".absent").getByRole("button", { name: "Run" }).click();
    await expect.poll(() => served.asked).toEqual(['POST /api/analyses {"id":"ablate"}']);
    await served.happens(1, "ablate", "running", { progress: { done: 1, total: 8, seconds: 1 } });
    await expect.poll(() => page.locator(".absent .job-said").textContent()).toBe("1 of 8");
    await served.happens(1, "ablate", "done");
    await page.waitForSelector('[data-chart="ablation-heads"]');
  });

  test("a text of another model does not count", async () => {
    const {
      view: { page, problems },
    } = await open("#ablation", "ablate", "lens", "lens_grid", "maps", "texts");
    await expect.poll(() => page.locator(".absent").first().textContent()).toContain("Or run a text in the Attention or Importance view");
    expect(await page.locator(".absent").getByRole("button", { name: "Run" }).count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test("compression is calibrated on the chosen text", async () => {
    const {
      served,
      view: { page, problems },
    } = await open("#plan");
    const run = page.locator(".live").getByRole("button", { name: "Run", exact: true });
    await expect.poll(() => run.isDisabled()).toBe(true);
    expect(await page.locator("nav").getByText("Plan", { exact: true }).count()).toBe(1);
    expect(await page.locator(".absent").getByRole("button").count()).toBe(0);
    await page.getByLabel("calibration text").setInputFiles({ name: "book.txt", mimeType: "text/plain", buffer: Buffer.from("To be") });
    await expect.poll(() => run.isEnabled()).toBe(true);
    const refused = { name: "no.txt", mimeType: "text/plain", buffer: Buffer.from([0xff]) };
    await page.getByLabel("calibration text").setInputFiles(refused);
    await expect.poll(() => page.locator(".live-file .note").textContent()).toBe("no.txt: not valid UTF-8.");
    expect(await run.isDisabled()).toBe(true);
    await page.getByLabel("calibration text").setInputFiles({ name: "book.txt", mimeType: "text/plain", buffer: Buffer.from("To be") });
    await expect.poll(() => run.isEnabled()).toBe(true);
    expect(await axe_findings(page)).toEqual([]);
    await run.click();
    await expect.poll(() => served.asked).toEqual(['POST /api/plan {"model":"shakespeare-gpt2","text":"To be"}']);
    await served.happens(1, "plan", "running", { progress: { done: 1, total: 20, seconds: 1 } });
    await expect.poll(() => page.locator(".live .job-said").textContent()).toBe("1 of 20");
    await served.happens(1, "plan", "failed", { error: { kind: "usage", message: "text: is too short" } });
    await expect.poll(() => page.locator(".live .job-said.failed").textContent()).toBe("text: is too short");
    expect(problems).toEqual([]);
  });

  test("an empty report accepts a text and starts all analyses", async () => {
    const {
      served,
      view: { page, problems },
    } = await open(
      "",
      "spectrum",
      "mla",
      "weights",
      "similarity",
      "overlap",
      "circuits",
      "composition",
      "attention",
      "attention_excluding_first",
      "induction",
      "directions",
      "lens",
      "lens_grid",
      "ablate",
      "maps",
    );
    await expect.poll(() => page.locator("main").textContent()).toContain("Nothing has been measured yet.");
    expect(await page.locator("main").textContent()).not.toContain("differs clearly from its baseline");
    expect(await page.locator("footer").textContent()).not.toContain("sends no data");
    await page.getByLabel("text to run").fill("To be");
    const text_run = page.getByRole("button", { name: "Run", exact: true }).first();
    await expect.poll(() => text_run.isEnabled()).toBe(true);
    await page.getByRole("button", { name: "Run all missing analyses" }).click();
    await expect.poll(() => served.asked).toEqual(['POST /api/analyses {"id":"missing"}']);
    await served.happens(1, "missing", "running", { progress: { done: 3, total: 9, seconds: 1 } });
    await expect.poll(() => page.locator(".job-said").first().textContent()).toBe("3 of 9");
    expect(await axe_findings(page)).toEqual([]);
    await served.happens(1, "missing", "done");
    await page.waitForSelector('[data-chart="overview-atlas"]');
    expect(await page.getByRole("button", { name: "Run all missing analyses" }).count()).toBe(0);
    expect(problems).toEqual([]);
  });

  test("shows results of another page and keeps the text typed here", async () => {
    const {
      served,
      view: { page, problems },
    } = await open("", "circuits");
    await page.waitForSelector('[data-chart="overview-wall"]');
    await page.evaluate(() => void (location.hash = "attention"));
    const box = page.getByLabel("text to run");
    await box.fill("To be, or not");
    await box.press("Home");
    await served.happens(7, "circuits", "running");
    await served.happens(7, "circuits", "done");
    await page.evaluate(() => void (location.hash = "heads"));
    await page.waitForSelector('[data-chart="heads-qk-rank"]');
    await page.evaluate(() => void (location.hash = "attention"));
    await expect.poll(() => box.inputValue()).toBe("To be, or not");
    expect(served.asked).toEqual([]);
    expect(problems).toEqual([]);
  });

  test("fetches the full map with exact weights if there is only a thumbnail", async () => {
    const {
      view: { page, problems },
    } = await open("#attention?l=1&h=1");
    await page.waitForSelector(".tokens");
    await expect.poll(() => page.locator(".attention-map .absent").count()).toBe(0);
    const box = (await page.locator('[data-chart="attention-map"] .chart-body svg image').boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.505, box.y + box.height * 0.505);
    await expect.poll(() => page.locator(".tip").textContent()).toMatch(/\(24\) attends to .*\(24\): 1$/);
    expect(problems).toEqual([]);
  });
});
