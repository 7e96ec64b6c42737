// Finding about the effect of cross-attention on the target loss.
import { describe, expect, test } from "vitest";
import { plain } from "../../../src/chart/rich_text";
import { cross_attention } from "../../../src/findings/cross_attention";
import { findings } from "../../../src/findings/all_findings";
import { attention_head, kModel, reading, type Made } from "./made_readings";

const row = (component: string, layer: number, head: number | null, loss_increase: number, error: number | null, loss: number) => ({
  model: "t5:cross",
  component,
  layer,
  head,
  loss_increase,
  loss_increase_error: error,
  loss,
});

interface Case {
  layers?: [number, number | null][];
  heads?: [number, number | null][];
  loss?: number;
  of?: string;
}

const kLayers: [number, number | null][] = [[1.04, 0.1], [1.49, 0.12]]; // prettier-ignore
const kHeads: [number, number | null][] = [[0.28, 0.09], [0.001, 0.002]]; // prettier-ignore

/** A reading of one stack of a model with three stacks. */
function read({ layers = kLayers, heads = kHeads, loss = 0.15, of = "cross" }: Case) {
  const stacks = ["encoder", "decoder", "cross"].map((stack) => ({ ...kModel, name: `t5:${stack}`, stack, vocab_size: 24 }));
  const made: Made = {
    rows: {
      ablate: [
        ...layers.map(([value, error], layer) => row("attention", layer, null, value, error, loss)),
        ...heads.map(([value, error], head) => row("head", 1, head, value, error, loss)),
      ],
      attention: [1.9, 0.7].map((entropy, head) => ({
        model: "t5:cross",
        ...attention_head(1, head, { entropy, uniform_sink_mass: 0.125 }),
      })),
    },
    model: { name: "t5:cross" },
  };
  const all = reading(made);
  (all.report.file.models as unknown[]).splice(0, 1, ...stacks);
  return { ...all, model: stacks.find(({ stack }) => stack === of)! };
}

const words = (of: Case): string | undefined => {
  const finding = cross_attention(read(of));
  return finding && `${finding.figure} ${finding.unit} ${plain(finding.words)}`;
};

describe("cross-attention", () => {
  test("shows effect, heads and uniform baseline", () => {
    const said =
      "+1.49 nats of target loss Ablating the cross-attention of layer 1 raises the target loss from 0.15 to 1.64 (±0.12), the largest " +
      "effect of 2 layers. 1 of 2 cross-attention heads has an effect beyond 2 standard errors. Largest: L1H0, +0.28 ±0.09. Most " +
      "focused: L1H1 attends to an effective number of 2 source tokens (uniform: about 8).";
    expect(words({})).toBe(said);
    expect(words({ of: "decoder" })).toBe(said);
  });

  test("shows a decrease of the loss", () => {
    const falls = words({ layers: [[0, 0.1], [-0.05, 0.005]], heads: [[0.001, 0.002]] }); // prettier-ignore
    expect(falls).toMatch(/^−0\.050 nats .* lowers the target loss .* No single head has an effect beyond 2 standard errors \(heads: 1\)/);
  });

  test("is a measured effect and links to the cross-attention stack", () => {
    const all = read({ of: "decoder" });
    expect(findings(all)[0]?.kind).toBe("cross_attention");
    expect(cross_attention(all)?.see).toEqual({ view: "ablation", state: { m: "2", l: 1, h: null } });
  });

  const silent: [string, Case][] = [
    ["the encoder", { of: "encoder" }],
    ["a single pair, without a standard error", { layers: [[1.5, null]] }],
    ["effects within chance", { layers: [[0.2, 0.1], [-0.2, 0.1]] }], // prettier-ignore
    ["small effects", { layers: [[0.009, 0.0001]] }],
    ["a model that predicts no better than chance", { loss: Math.log(24) }],
    ["a report without ablation", { layers: [], heads: [] }],
  ];
  test.each(silent)("not shown for %s", (_, of) => expect(words(of)).toBeUndefined());
});
