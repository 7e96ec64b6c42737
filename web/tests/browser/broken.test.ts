// Reports of incomplete models: they are created, open in every view, and all charts are drawn.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { opened } from "../../src/data/load";
import { exported_charts } from "../../src/exported_charts";
import { kViews } from "../../src/views/views";
import { kBroken, broken_model } from "./broken_models";
import { go, open_file, with_browser } from "./harness";
import { block_of, in_built_page, kBinary, kWeb } from "./sample_reports";

with_browser();

const kAddresses = [
  ...kViews.map(({ id }) => id),
  "spectra?show=null&by=matrix",
  "heads?l=1&h=0",
  "weights?l=1",
  "similarity?l=1",
  "attention?l=0&h=0",
];

/** The program draws charts slowly, with the code that draws those of all models below: so only for one model of each kind. */
const draws_charts = (name: string): boolean =>
  /^(without-q|nan-q|without-embedding|without-tokenizer|one-layer-one-head|one-token)$/.test(name);

/** Which of the models with one damaged matrix open in the browser: the views of W_V to W_down are those of W_Q and W_K. */
const opens = (name: string): boolean => !/^(without|nan)-(v|o|gate|up|down)$/.test(name);

/** Writes a report and its charts. Returns the page's file and, if the program draws them, the names of the charts. */
function report_of(model: (typeof kBroken)[number]): { file: string; charts: string[] | undefined } {
  const file = `${kWeb}/build/broken/${model.name}.html`;
  const charts = draws_charts(model.name) ? file.replace(".html", "-charts") : undefined;
  if (charts) rmSync(charts, { recursive: true, force: true });
  const options = ["--quiet", "--out", file, ...(charts ? ["--charts", charts] : [])];
  const run = spawnSync(kBinary, ["report", broken_model(model), ...(model.text ?? []), ...options], { encoding: "utf8" });
  expect(run.stderr).toBe("");
  expect(run.status).toBe(0);
  in_built_page(file);
  return { file, charts: charts === undefined ? undefined : readdirSync(charts).filter((name) => name.endsWith(".svg")) };
}

const buffer = (bytes: Buffer): ArrayBuffer => new Uint8Array(bytes).buffer;

describe.each(kBroken.map((model) => [model.name, model] as const))("%s", (_name, model) => {
  test("its charts are drawn, and its report opens in every view", async () => {
    const { file, charts } = report_of(model);
    const html = readFileSync(file, "utf8");
    const report = opened(block_of(html, "results").toString(), buffer(block_of(html, "values")), buffer(block_of(html, "maps")), false);
    const drawn = exported_charts(report);
    // Text and image bytes may contain these words.
    expect(drawn.map(({ svg }) => svg).join("")).not.toMatch(/ (?!aria-label|href)[\w-]+="[^"]*(NaN|undefined|Infinity)/);
    if (charts) expect(charts.sort()).toEqual(drawn.map(({ name }) => `${name}.svg`).sort());

    if (!opens(model.name)) return;
    const { page, problems, close } = await open_file(file);
    for (const view of kAddresses) {
      await go(page, `#${view}`); // the page opened without a view in its address
      expect(await page.locator("main h1").count(), view).toBe(1);
    }
    expect(problems).toEqual([]);
    await close();
  });
});
