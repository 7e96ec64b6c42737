// Tests every finding about the example models on the demo's text. Figures are recomputed independently, and findings about the text are
// compared with a run of the model. A finding without an experiment fails.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { plain } from "../../src/chart/rich_text";
import type { AblateRow, CompositionRow } from "../../src/data/report_file";
import type { Finding, KindName } from "../../src/findings/finding";
import { findings } from "../../src/findings/all_findings";
import * as arrays from "./arrays";
import { normal_numbers } from "./random_models";
import { reading_of_file } from "./report_readings";
import { kBinary, kWeb } from "./sample_reports";

const kText = /--text \\\n"([^"]+)"/.exec(readFileSync(`${kWeb}/../dev`, "utf8"))?.[1] ?? "";
const kFolder = `${kWeb}/build/demo`;

const run = async (...words: string[]): Promise<string> =>
  (await promisify(execFile)(kBinary, [...words, "--quiet"], { maxBuffer: 1 << 26 })).stdout;

interface Case {
  model: string; // folder
  words: string;
  finding: Finding;
  layer: number;
  head: number;
}

const matrix = async ({ model }: Case, name: string, layer: number, head?: number): Promise<arrays.Rows> => {
  const file = `${kFolder}/${name}.npy`;
  await run(
    "matrix",
    model,
    "--matrix",
    name,
    "--layer",
    String(layer),
    ...(head === undefined ? [] : ["--head", String(head)]),
    "-o",
    file,
  );
  return arrays.read_npy(file);
};

/** Attention (layers, heads, T, T) and hidden states (layers + 1, T, hidden size) on the text. */
const states = async ({ model }: Case) => {
  const file = `${kFolder}/states.safetensors`;
  await run("predict", model, "--text", kText, "--save", file);
  const tensor = arrays.read_tensors(file);
  return { attention: tensor("attentions"), hidden: tensor("hidden_states") };
};

const heads_without = async ({ model }: Case): Promise<AblateRow[]> => {
  const json = JSON.parse(await run("ablate", model, "--text", kText, "--components", "heads", "--format", "json")) as {
    rows: AblateRow[];
  };
  return json.rows;
};

const share = (text: string): number => Number(/(\d+)%/.exec(text)?.[1]) / 100;
const counted = (finding: Finding): number[] => finding.figure.split(" of ").map(Number);

/** A random Gaussian matrix, for baseline ranks. */
const random_rows = (rows: number, columns: number, seed: number): arrays.Rows => {
  const normal = normal_numbers(seed);
  return Array.from({ length: rows }, () => Array.from({ length: columns }, normal));
};

const kExperiments: Partial<Record<KindName, (of: Case) => Promise<void>>> = {
  async previous_token_heads(of) {
    const { shape, values } = (await states(of)).attention;
    const [layers = 0, heads = 0, tokens = 0] = shape;
    const on_previous = (map: number) => {
      let sum = 0;
      for (let query = 1; query < tokens; ++query) sum += values[(map * tokens + query) * tokens + query - 1] ?? NaN;
      return sum / (tokens - 1);
    };
    const all = Array.from({ length: layers * heads }, (_, map) => on_previous(map));
    expect([all.filter((each) => each >= 0.5).length, all.length]).toEqual(counted(of.finding));
    const best = of.layer * heads + of.head;
    expect(all[best]).toBe(Math.max(...all));
    expect(Math.round(100 * (all[best] ?? 0)) / 100).toBe(share(of.words));
    // The finding does not claim importance, but this head is important: ablating it raises the loss more than most heads.
    const rows = await heads_without(of);
    const effect = rows.find((row) => row.layer === of.layer && row.head === of.head)?.loss_increase ?? NaN;
    expect(effect).toBeGreaterThan(0.1);
    expect(rows.filter((row) => row.loss_increase > effect).length).toBeLessThan(2);
  },

  async identity_component(of) {
    const form = await matrix(of, "qk", of.layer);
    const trace = form.reduce((sum, row, index) => sum + (row[index] ?? 0), 0);
    expect(Math.abs(trace / (arrays.norm(form) * Math.sqrt(form.length)) - Number(of.finding.figure))).toBeLessThan(0.0051);
    // On the text: scores of token pairs vs. cosine similarity of their normalized states.
    const { shape, values } = (await states(of)).hidden;
    const [, tokens = 0, width = 0] = shape;
    const normed = Array.from({ length: tokens }, (_, token) => {
      const first = (of.layer * tokens + token) * width;
      const state = Array.from(values.subarray(first, first + width));
      const mean = state.reduce((sum, value) => sum + value, 0) / width;
      const size = Math.hypot(...state.map((value) => value - mean));
      return state.map((value) => (value - mean) / size);
    });
    const scores = arrays.times_transposed(arrays.times_transposed(normed, arrays.transposed(form)), normed);
    const alike = arrays.times_transposed(normed, normed);
    const pairs = scores.flatMap((row, i) =>
      row.flatMap((score, j): [number, number][] => (i === j ? [] : [[score, alike[i]?.[j] ?? NaN]])),
    );
    const sign = of.words.includes("higher scores") ? 1 : -1;
    expect(sign * arrays.correlation(pairs)).toBeGreaterThan(0.2);
  },

  async low_rank_matrix(of) {
    expect(of.words).toContain("the QK circuit in layer 0");
    const form = await matrix(of, "qk", 0);
    const [rank, possible] = counted(of.finding);
    expect(arrays.energy_rank(arrays.squared_singular_values(form), 0.9)).toBe(rank);
    const keys = await matrix(of, "k", 0);
    expect(keys.length).toBe(possible);
    // Query heads that share keys are summed; a sum of random matrices is random.
    const random = arrays.times_transposed(
      random_rows(form.length, keys.length, 5),
      arrays.transposed(random_rows(keys.length, form.length, 6)),
    );
    const null_rank = Number(/random: (\d+)/.exec(of.words)?.[1]);
    expect(Math.abs(arrays.energy_rank(arrays.squared_singular_values(random), 0.9) - null_rank)).toBeLessThanOrEqual(1);
  },

  async kv_latent(of) {
    const [, rank, layer] = /latent of rank (\d+) in layer (\d+)/.exec(of.words)?.map(Number) ?? [];
    const kept = (rows: arrays.Rows) => {
      const squares = arrays.squared_singular_values(rows);
      const sum = (of_them: readonly number[]) => of_them.reduce((total, value) => total + value, 0);
      return sum(squares.slice(0, rank)) / sum(squares);
    };
    const [keys, values] = [await matrix(of, "k", layer ?? NaN), await matrix(of, "v", layer ?? NaN)];
    const together = [...keys, ...values];
    expect(Math.floor(100 * kept(together)) / 100).toBe(share(of.finding.figure));
    const random = kept(random_rows(together.length, together[0]?.length ?? 0, 7));
    expect(Math.abs(random - share(of.words.slice(of.words.indexOf("random: "))))).toBeLessThan(0.015);
  },

  async composition(of) {
    expect(of.words).toContain("The score uses only weights.");
    const json = await run("circuits", of.model, "--composition", "--format", "json");
    const rows = (JSON.parse(json) as { rows: CompositionRow[] }).rows;
    const best = rows.reduce((a, b) => ((b.score ?? 0) > (a.score ?? 0) ? b : a));
    expect(of.words).toMatch(new RegExp(`^of L${best.layer}H${best.head} with the \\w+ of L${best.receiver_layer}H${best.receiver_head},`));
    const writes = await matrix(of, "ov", best.layer, best.head);
    const reads = await matrix(of, best.kind === "v" ? "ov" : "qk", best.receiver_layer, best.receiver_head);
    const product = arrays.times_transposed(best.kind === "q" ? arrays.transposed(reads) : reads, arrays.transposed(writes));
    expect(Math.abs(arrays.norm(product) / (arrays.norm(reads) * arrays.norm(writes)) - Number(of.finding.figure))).toBeLessThan(6e-4);
  },
};

describe.each(["shakespeare-gpt2", "shakespeare-llama"])("findings about %s on the demo's text", (name) => {
  const model = `${kWeb}/../examples/${name}`;
  let said: Finding[] = [];
  beforeAll(async () => {
    mkdirSync(kFolder, { recursive: true });
    expect(kText).toMatch(/^ROMEO:/);
    const file = `${kFolder}/${name}.html`;
    await run("report", model, "--text", kText, "--out", file);
    said = findings(reading_of_file(file)[0]!);
  });

  test("each finding is confirmed", async () => {
    expect(said.length).toBeGreaterThanOrEqual(3);
    for (const finding of said) {
      const experiment = kExperiments[finding.kind];
      expect(experiment, `no experiment for ${finding.kind}`).toBeDefined();
      const { l, h } = finding.see.state as { l?: number; h?: number };
      await experiment!({ model, finding, words: plain(finding.words), layer: l ?? -1, head: h ?? -1 });
    }
  });
});
