// Sample reports for browser tests, created once by the program before the first test.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import type { ReportFile } from "../../src/data/report_file";
import { add_plan_and_difference } from "./planned";

export const kWeb = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const kBinary = resolve(process.env.ATTNSCOPE ?? resolve(kWeb, "../build/release/attnscope"));
const kText = resolve(kWeb, "../README.md");

export const kTemplate = resolve(dirname(kBinary), "page/report.html");

export interface Sample {
  name: string; // file name
  models: readonly string[]; // models in `folder`
  folder?: string; // folder in the repository; default: examples
  input?: readonly string[]; // input options that replace a text
  without?: readonly string[]; // ids of removed analyses
  change?: (results: ReportFile) => void; // modification of the results
}

export const kWhole: Sample = { name: "whole", models: ["shakespeare-gpt2"] };
export const kTwoModels: Sample = { name: "two", models: ["shakespeare-llama", "shakespeare-gpt2"] };
export const kPartial: Sample = { name: "partial", models: ["shakespeare-llama"], without: ["spectrum", "circuits", "overlap", "maps"] };
export const kWithoutWeights: Sample = { name: "without-weights", models: ["shakespeare-llama"], without: ["weights"] };

/** Three layers with six experts each, two per token. */
export const kMixture: Sample = {
  name: "mixture",
  folder: "tests/data/forward",
  models: ["qwen2_moe"],
  input: ["--tokens", "3,1,4,1,5,9,2,6,5,3,5,8,9,7"],
};
/** With prompts that have answers. */
export const kPrompts: Sample = {
  name: "prompts",
  models: ["shakespeare-gpt2"],
  input: ["--prompts", resolve(kWeb, "../examples/prompts.jsonl")],
};
/** With a plan and a diff from a base model. */
export const kPlanned: Sample = { ...kWhole, name: "planned", change: add_plan_and_difference };
export const kMixtureOnly: Sample = { ...kMixture, name: "mixture-only", without: ["routing", "experts", "expert_spectra"] };

/** The report on the images of the documentation. */
export const kOfDocs: Sample = {
  name: "images",
  models: ["shakespeare-gpt2"],
  input: [
    "--text",
    "ROMEO:\nBut, soft! what light through yonder window breaks?\nIt is the east, and Juliet is the sun.\n" +
      "Arise, fair sun, and kill the envious moon,\nWho is already sick and pale with grief,\n" +
      "That thou her maid art far more fair than she.",
  ],
};

/** A file from the program's tests. */
export const data = (path: string): string => resolve(kWeb, "../tests/data", path);

/** A target of 9 tokens and a source of 14. Models: encoder, decoder and cross-attention. */
export const kAcross: Sample = {
  name: "across",
  folder: "tests/data/encoder_decoders",
  models: ["t5"],
  input: ["--tokens", "3,1,4,1,5,9,2,6,5,3,5,8,9,7", "--target-tokens", "0,2,7,1,8,2,8,1,8"],
};

export const kImage: Sample = {
  name: "image",
  folder: "tests/data/stacks",
  models: ["vit"],
  input: ["--image", data("images/odd.png")],
};

export const kRegisters: Sample = {
  name: "registers",
  folder: "tests/data/stacks",
  models: ["dinov2_with_registers"],
  input: ["--pixel-values", data("images/pixels.npy")],
};

export const kSound: Sample = {
  name: "sound",
  folder: "tests/data/stacks",
  models: ["wav2vec2"],
  input: ["--audio", data("audio/steps.wav")],
};

export const report_file = ({ name }: Sample): string => `${kWeb}/build/${name}.html`;

const kResults = /(<script type="application\/gzip;base64" id="results">)([^<]*)/;

/** Results of a report file, without arrays. */
export const results_of = (file: string): ReportFile =>
  JSON.parse(gunzipSync(Buffer.from(kResults.exec(readFileSync(file, "utf8"))![2]!, "base64")).toString()) as ReportFile;

/** A copy of a sample file with modified results. */
export function changed_report(sample: Sample, name: string, change: (file: ReportFile) => void): string {
  const results = results_of(report_file(sample));
  change(results);
  const packed = gzipSync(JSON.stringify(results)).toString("base64");
  const file = `${kWeb}/build/${name}.html`;
  writeFileSync(
    file,
    readFileSync(report_file(sample), "utf8").replace(kResults, (_, head: string) => head + packed),
  );
  return file;
}

const packed_block = (html: string, id: string): string => new RegExp(`id="${id}">([^<]*)`).exec(html)?.[1] ?? "";

/** Bytes of a block in a report page. */
export const block_of = (html: string, id: string): Buffer => gunzipSync(Buffer.from(packed_block(html, id), "base64"));

/** Embeds the program's data in the built page, which may be newer than the program's page. */
export function in_built_page(file: string): void {
  const written = readFileSync(file, "utf8");
  let page = readFileSync(kTemplate, "utf8");
  for (const id of ["results", "values", "maps"]) page = page.replace(`@@${id}@@`, () => packed_block(written, id));
  writeFileSync(file, page);
}

const kMade = new Map<string, string>(); // pages by program arguments

/** Samples that differ only in later modifications are copies of one report. */
function write_report(sample: Sample): void {
  const file = report_file(sample);
  const models = sample.models.map((model) => resolve(kWeb, "..", sample.folder ?? "examples", model));
  const text = sample.input ?? ["--text-file", kText, "--length", "48", "--sequences", "8"];
  const key = [...models, ...text].join(" ");
  const made = kMade.get(key);
  if (made) return writeFileSync(file, made);
  execFileSync(kBinary, ["report", ...models, ...text, "--quiet", "--out", file]);
  in_built_page(file);
  kMade.set(key, readFileSync(file, "utf8"));
}

function make(sample: Sample): void {
  write_report(sample);
  const { without, change } = sample;
  if (change) changed_report(sample, sample.name, change);
  if (without)
    changed_report(sample, sample.name, (results) => {
      results.reports = results.reports.filter(({ id }) => !without.includes(id));
      if (without.includes("maps")) results.maps = results.cosines = [];
    });
}

const kSamples = [
  kWhole,
  kPrompts,
  kTwoModels,
  kPartial,
  kWithoutWeights,
  kMixture,
  kMixtureOnly,
  kPlanned,
  kOfDocs,
  kAcross,
  kImage,
  kRegisters,
  kSound,
];

/** Called by Vitest before the first test. */
export default function make_samples(): void {
  if (!existsSync(kBinary)) throw new Error(`no program at ${kBinary}: build it or set ATTNSCOPE`);
  mkdirSync(`${kWeb}/build`, { recursive: true });
  for (const sample of kSamples) make(sample);
}
