// Opens reports of the program without a browser.
import { readFileSync } from "node:fs";
import { opened } from "../../src/data/load";
import type { Model } from "../../src/data/report_file";
import type { Reading } from "../../src/shaping/reading";
import { block_of } from "./sample_reports";

const buffer = (bytes: Buffer): ArrayBuffer => new Uint8Array(bytes).buffer;

/** A reading for each model of a report file. */
export function reading_of_file(file: string): Reading[] {
  const html = readFileSync(file, "utf8");
  const report = opened(block_of(html, "results").toString(), buffer(block_of(html, "values")), buffer(block_of(html, "maps")), false);
  return report.file.models.map((model) => ({ report, state: { view: "", params: {} }, model: model as Model, threshold: 0.9 }));
}
