// Sentences of reports that the program makes: silent of random models, and right about what was planted in one.
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { plain } from "../../src/chart/rich_text";
import { findings, kKinds } from "../../src/findings/all_findings";
import type { Reading } from "../../src/shaping/reading";
import { random_gpt2, random_llama, random_mixtral, random_t5, write_checkpoint, type Checkpoint } from "./random_models";
import * as planted from "./planted_models";
import { reading_of_file } from "./report_readings";
import { kBinary, kWeb } from "./sample_reports";

/** What the program reports of the models, for each its own reading. */
async function readings(name: string, folders: readonly string[], options: readonly string[]): Promise<Reading[]> {
  mkdirSync(`${kWeb}/build/made`, { recursive: true });
  const file = `${kWeb}/build/made/${name}.html`;
  await promisify(execFile)(kBinary, ["report", ...folders, ...options, "--quiet", "--out", file]);
  return reading_of_file(file);
}

/** The same on a text in which what was read comes again. */
function of_repetitive_text(name: string, model: Checkpoint, count = 16): Promise<Reading[]> {
  const text = `${kWeb}/build/made/repetitive.txt`;
  const folder = write_checkpoint(name, model);
  writeFileSync(text, planted.repetitive_text());
  return readings(name, [folder], windows(text, count));
}

/** The same of encoder-decoders, on pairs of which cross-attention can copy the target if it is related to its source. */
function of_pairs(name: string, models: readonly Checkpoint[], related: boolean): Promise<Reading[]> {
  const folders = models.map((model, index) => write_checkpoint(`${name}-${index}`, model));
  const files = Object.entries(planted.pairs_of_copies(related)).map(([side, text]) => {
    const file = `${kWeb}/build/made/${name}-${side}.txt`;
    writeFileSync(file, text);
    return file;
  });
  return readings(name, folders, ["--text-file", files[0]!, "--target-file", files[1]!]);
}

const windows = (file: string, count: number) => ["--text-file", file, "--length", "48", "--sequences", String(count), "--consecutive"];
const kText = windows(`${kWeb}/../README.md`, 8);

type KindName = keyof typeof kKinds;

const words_of = (kind: KindName, reading: Reading): string => {
  const found = kKinds[kind](reading);
  return found ? `${found.figure} ${found.unit} ${plain(found.words)}`.replace(/\u202f/g, " ") : "";
};

describe("of random models nothing is said but that they are random", () => {
  // GPT-2 itself begins with about 0.2; at 2.5 maps are far from even.
  const kSeedsAndScales = [
    [1, 0.2],
    [2, 0.2],
    [3, 1],
    [4, 1],
    [5, 2.5],
    [6, 2.5],
  ] as const;
  const kSilent = ["", "model_like_random"];

  test.each([
    ["gpt2", random_gpt2],
    ["llama", random_llama],
    ["mixtral", random_mixtral],
  ] as const)("%s", async (family, make) => {
    const folders = kSeedsAndScales.map(([seed, scale]) => write_checkpoint(`random-${family}-${seed}`, make(seed, scale)));
    for (const reading of await readings(`random-${family}`, folders, kText)) {
      const said = findings(reading).map((each) => each.kind);
      expect(kSilent, `${reading.model.name}: ${findings(reading).map(({ words }) => plain(words))}`).toContain(said.join());
    }
  });

  test("t5, whose cross-attention is random too", async () => {
    const models = kSeedsAndScales.slice(1, 4).map(([seed, scale]) => random_t5(seed, scale));
    for (const reading of await of_pairs("random-t5", models, true)) {
      const said = findings(reading).map((each) => each.kind);
      expect(kSilent, `${reading.model.name}: ${findings(reading).map(({ words }) => plain(words))}`).toContain(said.join());
    }
  });

  test("nor of cross-attention that copies what the targets do not need", async () => {
    const all = await of_pairs("unrelated-pairs", [planted.planted_cross_attention()], false);
    expect(all.map((reading) => words_of("cross_attention", reading))).toEqual(["", "", ""]);
  });

  test("nor of what a random model can do without, or of a random change to one", async () => {
    const { base, random } = planted.planted_change();
    const base_folder = write_checkpoint("base-of-random", base);
    const options = ["--base", base_folder, "--plan-text", `${kWeb}/../README.md`, ...kText];
    const [reading] = await readings("changed-random", [write_checkpoint("changed-random", random)], options);
    expect(kSilent).toContain(
      findings(reading!)
        .map(({ kind }) => kind)
        .join(),
    );
  });
});

describe("what was planted is said", () => {
  const kPlanted: { name: string; make: () => Promise<Reading[]>; said: Partial<Record<KindName, RegExp>> }[] = [
    {
      name: "in weights of heads", // without a text, which would say what they do
      make: () => readings("planted-weights", [write_checkpoint("planted-weights", planted.planted_weights(), false)], []),
      said: {
        zero_matrices: /^1 of 36 matrices is all zero W_O of layer 5: its rank is 0/,
        zero_heads: /^1 of 72 heads' circuits is all zero OV of layer 4 head 3/,
        duplicate_heads: /^0\.9\d* overlap heads 0 and 1 of layer 3 read nearly the same/,
        shared_space: /^0\.7\d* overlap .* of their W_K space at most: 1 and 2 of layer 2\. Chance is 0\.17/,
        composition: /^\S+ K-composition of layer 0 head 1 with layer 1 head 2: /,
        copying: /^1 of 29 heads has a mostly positive OV circuit .* clearest in layer 0 head 5 with \+1\.00.* it would raise/,
        heavy_tails: /^\d+ excess kurtosis in the MLP's up of layer 2: /,
      },
    },
    {
      name: "in spectra",
      make: () => readings("planted-spectra", [write_checkpoint("planted-spectra", planted.planted_spectra())], kText),
      said: {
        symmetric: /^6 of 36 heads are symmetric .* in layer 4 head \d with \+1\.00 and nearly all of it positive/,
        identity_part: /^\+0\.69 cosine with the identity is what W_QᵀW_K of layer 4 has.*: keys like the query score above/,
        fewest_directions: /^7 of 96 directions hold 90 % of the energy of the MLP's up in layer 5\. Random numbers would need 74\./,
        matrix_like_random: /^73 of 96 directions hold .* of the MLP's down in layer 5: .* No other layer here needs more than 1\d\./,
        weights_depth: /^\d+ → 7 directions from layer 0 to layer 5: the MLP's up loses rank with depth/,
        latent: /^5\d % energy kept is the least that a joint key–value latent of 10 would keep.* Of random numbers it would keep 25 %\./,
      },
    },
    {
      name: "in heads that read a text",
      make: () => of_repetitive_text("planted-heads", planted.planted_heads()),
      said: {
        previous_token: /^1 of 36 heads looks one back .* 100 % in layer 0 head 0/,
        sink: /^7 of 36 heads park on the first token .* 100 % in layer 1 head 1/,
        collapsed: /^1 of 6 layers has collapsed layer 3: .* at most 1 of 48 columns here/,
        raises:
          /^1 of 36 heads raises the tokens it reads .* most in layer 5 head 2, \+5\.\d+ .* the loss rises by 0\.2\d+\. 1 does the reverse/,
        matters:
          /^\+0\.2\d nats of loss on the text \(now 6\.7\d\) when layer 5 head 2 is ablated .* for \d+ of 36 heads, and lowers it for/,
      },
    },
    {
      name: "in cross-attention that copies the source",
      make: async () => (await of_pairs("planted-cross-attention", [planted.planted_cross_attention()], true)).slice(1),
      said: {
        // PyTorch hooks on transformers' T5 in float64: 0.9813 nats, +7.9852 ±1.3450 of the layer, +7.9840 ±1.3451 of the head.
        cross_attention: new RegExp(
          "^\\+7\\.99 nats of loss on the targets \\(0\\.98 → 8\\.97\\) when the cross-attention of layer 1 is ablated \\(±1\\.34\\), " +
            "the largest effect of its 3 layers\\. .* of 18 cross-attention heads changes? it, most layer 1 head 2: \\+7\\.98 ±1\\.35\\. " +
            "The sharpest head, layer 2 head 4, attends to the equivalent of 1 source tokens \\(uniform attention: about 10\\)\\.$",
        ),
      },
    },
    {
      name: "in a head without which the loss falls",
      make: () => of_repetitive_text("planted-one-in-the-way", planted.planted_heads(planted.kOneInTheWay), 36),
      said: {
        matters: /^−0\.\d+ nats of loss .* when layer 5 head 3 is ablated .* The text's loss falls without it\. .* and lowers it for [1-9]/,
      },
    },
    {
      name: "in activations",
      make: () => readings("planted-activations", [write_checkpoint("planted-activations", planted.planted_activations())], kText),
      said: {
        dead_heads: /^1 of 36 heads is nearly dead The output of layer 1 head 4 has 0\.00\d+ % .* \(median head: [\d.]+ %\)/,
        massive_activations: /^40\d is a massive activation .* in dimension 7 at position \d+: .* There is one after layers 2–5\.$/,
        outlier_dimensions: /^1 dimension is an outlier 7: .* Dimension 7 has it in 3 of 6 layers/,
      },
    },
    {
      name: "in scores that lose their force with depth",
      make: () => readings("planted-depth", [write_checkpoint("planted-depth", planted.planted_depth())], kText),
      said: { attention_depth: /^15\.\d → 5\.\d+ MaxRank at 90 % of at most 48: .* attention loses rank with depth/ },
    },
    {
      name: "in experts",
      make: () => readings("planted-experts", [write_checkpoint("planted-experts", planted.planted_experts())], kText),
      said: {
        dead_experts: /^1 of 48 experts is never chosen on the 384 tokens of the text, in layer 0; most, 1, in layer 0/,
        expert_twins: /^1 similarity have two experts of layer 1 in what the MLP's \w+ does/,
        experts_one_space: /^1\d of 96 directions hold 0\.9 of the energy of the MLP's gate of 8 experts of layer 2 together: they read/,
      },
    },
    {
      name: "in a change of two directions",
      make: () => {
        const { base, small } = planted.planted_change();
        return readings("changed-little", [write_checkpoint("changed-little", small)], ["--base", write_checkpoint("base", base)]);
      },
      said: { small_adapter: /^4\.2 % of the changed matrices' size hold 90 % .* random changes would take 100 %/ },
    },
    {
      name: "by training, where tokens repeat",
      make: () => readings("induction", [`${kWeb}/../examples/induction-gpt2`], []),
      said: { induction: /^4 of 8 heads do induction .* in layer 1 head \d\. Even attention gives it/ },
    },
  ];
  const tried = new Set<string>();

  test.each(kPlanted.map((each) => [each.name, each] as const))("%s", async (_, { make, said }) => {
    const reading = (await make())[0]!;
    for (const [kind, words] of Object.entries(said)) {
      tried.add(kind);
      expect(words_of(kind as KindName, reading), kind).toMatch(words);
    }
  });

  // Those of plans: tests/unit/findings/plan.test.ts holds their words, and above they are silent of a random model.
  afterAll(() => {
    if (tried.size > 0) expect(Object.keys(kKinds).filter((kind) => !tried.has(kind))).toEqual(["needed_layer", "smaller_model"]);
  });
});
