// Runs every command shown on the page, in placeholders and under tables. None may fail.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { kViews } from "../../src/views/views";
import { kBroken, broken_model } from "./broken_models";
import { go, open_file, with_browser } from "./harness";
import { in_built_page, kBinary, kWeb, results_of } from "./sample_reports";

with_browser();

const kText = resolve(kWeb, "../README.md");
const kExamples = resolve(kWeb, "../examples");
const kShared = resolve(kWeb, "../../shared/models");
const kAddresses = [
  ...kViews.map(({ id }) => id),
  "heads?l=0&h=0",
  "weights?l=0",
  "similarity?l=0",
  "attention?l=0&h=0",
  "attention?l=0&h=0&keys=others",
  "heads?l=1&h=0",
  "weights?l=1",
  "similarity?l=1",
  "weights?l=5",
];

interface Case {
  name: string;
  model: () => string;
  arguments?: readonly string[];
}

const broken = (name: string): Case => {
  const found = kBroken.find((each) => each.name === name)!;
  return { name, model: () => broken_model(found), ...(found.text ? { arguments: found.text } : {}) };
};
const example = (name: string, ...given: string[]): Case => ({
  name: `${name} ${given.join(" ")}`,
  model: () => join(kExamples, name),
  arguments: given,
});

const kCases: readonly Case[] = [
  example("shakespeare-gpt2"),
  example("shakespeare-llama", "--text-file", kText, "--length", "256", "--sequences", "1"), // its maps are thumbnails
  example("shakespeare-gpt2", "--layers", "2-3"),
  ...["without-tokenizer", "without-embedding", "nan-everywhere", "one-token"].map(broken),
  // Real models, if available: without a tokenizer, with a short context, for other languages than English.
  ...["stories260K", "rxnmapper-albert"]
    .filter((name) => existsSync(join(kShared, name)))
    .map((name): Case => ({ name, model: () => join(kShared, name) })),
];

/** A file with a prompt whose answers are tokens of the model. */
const prompts_of = (model: string): string => {
  if (!model.includes("stories260K")) return join(kExamples, "prompts.jsonl");
  const file = join(mkdtempSync(join(tmpdir(), "attnscope-prompts-")), "prompts.jsonl");
  writeFileSync(file, JSON.stringify({ clean: "he was", corrupted: "she was", correct: "s", incorrect: "t" }));
  return file;
};

/** Replacements for placeholders in capitals. */
const filled = (command: string, model: string, base: string): string =>
  command
    .replace(/^attnscope /, `${kBinary} `)
    .replace(/\bMODEL\b/, model)
    .replace(/\bBASE\b/, base)
    .replace(/\bOTHER\b/, join(kExamples, "shakespeare-llama"))
    .replace(/--prompts FILE\b/, `--prompts ${prompts_of(model)}`)
    .replace(/\bFILE\b/, kText)
    .replace(/\bLAYER,HEAD\b/, "0,0");

const tried = new Set<string>(); // several cases use the same model and show the same commands

describe("every command on the page can be run:", () => {
  test.each(kCases.map((each) => [each.name, each] as const))("%s", async (_name, { model, arguments: given = [] }) => {
    const folder = mkdtempSync(join(tmpdir(), "attnscope-commands-"));
    const [path, file] = [model(), join(folder, "page.html")];
    const run = spawnSync(kBinary, ["report", path, ...given, "--quiet", "--out", file], { encoding: "utf8" });
    expect(run.stderr).toBe("");
    in_built_page(file);
    const { skipped, reports, command } = results_of(file);
    const named = new Set([command, ...skipped.map((each) => each.command), ...reports.flatMap((each) => each.again?.split("\n") ?? [])]);

    const { page, close } = await open_file(file);
    for (const view of kAddresses) {
      await go(page, `#${view}`);
      for (const text of await page.locator("main code").allTextContents()) named.add(text);
    }
    await close();

    // A shell runs them below, so <code> elements may contain only commands.
    expect([...named].filter((each) => each && !/^attnscope [a-z]+ /.test(each))).toEqual([]);

    const base = join(folder, "base");
    cpSync(path, base, { recursive: true });
    const failed: string[] = [];
    for (const each of named) {
      if (!each || tried.has(`${path}: ${each}`)) continue;
      tried.add(`${path}: ${each}`);
      const { status, stderr } = spawnSync("sh", ["-c", filled(each, path, base)], { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
      if (status !== 0) failed.push(`${each}: ${status}: ${stderr.trim()}`);
    }
    rmSync(folder, { recursive: true });
    expect(failed).toEqual([]);
  });
});
