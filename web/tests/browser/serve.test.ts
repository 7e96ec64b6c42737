// End-to-end tests of `attnscope serve` and the page.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { broken_model, kBroken } from "./broken_models";
import { axe_findings, open_address, with_browser, type Opened } from "./harness";
import { data, kBinary, kWeb } from "./sample_reports";

with_browser();

const kModel = resolve(kWeb, "../examples/shakespeare-gpt2");
const kText = "To be, or not to be: that is the question";

interface Running {
  program: ChildProcess;
  address: string;
  view: Opened;
}

const programs: ChildProcess[] = [];
const views: Opened[] = [];

async function serve(fragment: string, model = kModel): Promise<Running> {
  const program = spawn(kBinary, ["serve", model, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  programs.push(program);
  const address = await new Promise<string>((found, failed) => {
    let said = "";
    program.on("exit", (code) => failed(new Error(`serve ended with ${code} before it said its address`)));
    program.stdout!.on("data", (part: Buffer) => {
      said += part.toString();
      const match = /(http:\S+)\s/.exec(said);
      if (match) found(match[1]!);
    });
  });
  const view = await open_address(address + fragment, {}, address);
  views.push(view);
  return { program, address, view };
}

/** Stops the program with SIGINT and returns its exit code. */
function interrupted(program: ChildProcess): Promise<number | null> {
  return new Promise((ended) => {
    program.on("exit", ended);
    program.kill("SIGINT");
  });
}

afterEach(async () => {
  for (const view of views.splice(0)) await view.close();
  for (const program of programs.splice(0)) program.kill("SIGKILL");
});

/** Ignores responses with an outdated revision, which the page requests again. */
const without_conflicts = (problems: readonly string[]): string[] => problems.filter((each) => !each.includes("409 (Conflict)"));

/** Rows of `attnscope attention` on the text. */
function printed_rows(): { layer: number; head: number | null; energy_rank: number }[] {
  const text = execFileSync(kBinary, ["attention", kModel, "--text", kText, "--format", "json", "--quiet"]).toString();
  return (JSON.parse(text) as { rows: { layer: number; head: number | null; energy_rank: number }[] }).rows;
}

/** The T × T float32 map of one head from `attention --maps`. */
function kept_map(layer: number, head: number): Float32Array {
  const folder = mkdtempSync(join(tmpdir(), "attnscope-page-"));
  const file = join(folder, "maps.safetensors");
  execFileSync(kBinary, ["attention", kModel, "--text", kText, "--maps", file, "--out", join(folder, "rows"), "--quiet"]);
  const bytes = readFileSync(file);
  rmSync(folder, { recursive: true });
  const header = Number(bytes.readBigUInt64LE(0));
  const { shape, data_offsets } = (
    JSON.parse(bytes.subarray(8, 8 + header).toString()) as { attentions: { shape: number[]; data_offsets: number[] } }
  ).attentions;
  const [, heads, tokens] = shape as [number, number, number, number];
  const begin = 8 + header + data_offsets[0]! + 4 * (layer * heads + head) * tokens * tokens;
  return new Float32Array(Uint8Array.from(bytes.subarray(begin, begin + 4 * tokens * tokens)).buffer);
}

describe("serve", () => {
  test("running a typed text shows its maps, and Ctrl-C stops the program", async () => {
    const { program, address, view } = await serve("#attention");
    const { page, problems } = view;
    await page.getByLabel("text to run").fill(kText);
    await page.getByRole("button", { name: "Run", exact: true }).first().click();
    await page.locator(".chart-wall").waitFor();
    const rank = printed_rows().find(({ layer, head }) => layer === 3 && head === 1)!.energy_rank;
    await page.evaluate(() => void (location.hash = "attention?l=3&h=1"));
    await page.locator(".chart-map").waitFor();
    await expect.poll(() => page.locator("main").innerText()).toMatch(new RegExp(`\\b${rank}\\s+energy rank`));
    const served = new Float32Array(await (await fetch(`${address}api/maps/0/3/1`)).arrayBuffer());
    expect([...served]).toEqual([...kept_map(3, 1)]);
    expect(problems).toEqual([]);
    expect(await interrupted(program)).toBe(130);
  });

  test("one button runs all missing analyses, and another browser shows them", async () => {
    const { address, view } = await serve("");
    const other = await open_address(address, {}, address);
    await expect.poll(() => other.page.locator("main").textContent()).toContain("Nothing has been measured yet.");
    await view.page.getByRole("button", { name: "Run all missing analyses" }).click();
    for (const { page, problems } of [view, other]) {
      await page.locator('[data-chart="overview-atlas"]').waitFor();
      await page.locator(".overview-heads .chart-heatmap").first().waitFor();
      await expect.poll(() => page.getByRole("button", { name: "Run all missing analyses" }).count()).toBe(0);
      expect(without_conflicts(problems)).toEqual([]);
    }
    await other.close();
  });

  test("a model with a NaN matrix is shown after every analysis", async () => {
    for (const name of ["without-k", "nan-v"]) {
      const model = kBroken.find((each) => each.name === name)!;
      const {
        view: { page, problems },
      } = await serve("", broken_model(model));
      await page.getByRole("button", { name: "Run all missing analyses" }).click();
      await page.locator('[data-chart="overview-atlas"]').waitFor();
      await expect.poll(() => page.getByRole("button", { name: "Run all missing analyses" }).count()).toBe(0);
      await expect.poll(() => page.locator(".skipped").first().textContent()).toContain("layer 1");
      expect(without_conflicts(problems)).toEqual([]);
    }
  });

  test("an image file is run, and an invalid one gives an error message", async () => {
    const { program, view } = await serve("#attention", data("stacks/vit"));
    const { page, problems } = view;
    const run = page.locator(".live button.run");
    expect(await run.isDisabled()).toBe(true);
    await page
      .getByLabel("an image to run")
      .setInputFiles({ name: "broken.png", mimeType: "image/png", buffer: Buffer.from("not an image") });
    await expect.poll(() => run.isEnabled()).toBe(true);
    expect(await axe_findings(page)).toEqual([]);
    await run.click();
    await expect.poll(() => page.locator(".live .job-said").textContent()).toContain("image: ");
    await page.getByLabel("an image to run").setInputFiles(data("images/odd.png"));
    await expect.poll(() => page.locator(".live-file .note").textContent()).toBe("odd.png");
    await run.click();
    await expect.poll(() => page.locator('[data-chart="attention-picture"] [data-place]').count()).toBe(5);
    expect(without_conflicts(problems)).toEqual([]);
    expect(await interrupted(program)).toBe(130);
  });

  test("a text file gives standard errors, and one that is too short for a plan gives an error", async () => {
    const { view } = await serve("#ablation");
    const { page, problems } = view;
    await page.getByLabel("input type").selectOption("file");
    await page.getByLabel("text file to run").setInputFiles(resolve(kWeb, "../README.md"));
    await page.locator(".live button.run").click();
    await page.locator('[data-chart="ablation-heads"]').waitFor();
    expect(await page.locator("main").textContent()).not.toContain("no standard errors");
    await page.evaluate(() => void (location.hash = "plan"));
    const text = { name: "few.txt", mimeType: "text/plain", buffer: Buffer.from("To be") };
    await page.getByLabel("calibration text").setInputFiles(text);
    await page.locator(".live button.run").click();
    await expect.poll(() => page.locator(".live .job-said").textContent()).toContain("is too short for calibration");
    expect(without_conflicts(problems)).toEqual([]);
  });

  test("a source and target text run in all stacks, and cross-attention shows both", async () => {
    const { program, view } = await serve("#attention?m=2", data("encoder_decoders/t5"));
    const { page, problems } = view;
    await page.getByLabel("input type").selectOption("tokens");
    await page.getByLabel("source text to run").fill("3,4,5,6,7");
    await page.getByLabel("target text").fill("0,5,6");
    expect(await axe_findings(page)).toEqual([]);
    await page.locator(".live button.run").click();
    const map = page.locator('[data-chart="attention-map"] .chart-body > svg');
    await expect.poll(() => map.getAttribute("aria-label").catch(() => "")).toContain("3 tokens to 5 source tokens");
    expect(await page.locator(".tokens.read-only span").count()).toBe(5);
    expect(without_conflicts(problems)).toEqual([]);
    expect(await interrupted(program)).toBe(130);
  });

  test("a missing analysis is started from its placeholder", async () => {
    const { view } = await serve("#heads");
    await view.page.getByRole("button", { name: "Run", exact: true }).first().click();
    await view.page.locator(".chart-heatmap").first().waitFor();
    expect(view.problems).toEqual([]);
  });
});
