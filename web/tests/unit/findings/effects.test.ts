// Findings about measured effects of heads: a copying head, a suppression head, an inactive head and random heads.
import { describe, expect, test } from "vitest";
import { draw } from "../../../src/chart/chart";
import { cell_words } from "../../../src/chart/heatmap";
import { kLight } from "../../../src/chart/theme";
import { all_by_tag } from "../../../src/chart/svg_tree";
import { copying_heads } from "../../../src/findings/copying_heads";
import { important_head } from "../../../src/findings/important_head";
import { attended_token_effect } from "../../../src/findings/attended_token_effect";
import { heads_chart, layers_chart, lens_chart, lens_grid_chart, copying_effect_chart } from "../../../src/views/ablation/charts";
import { range } from "../../../src/data/numbers";
import { attention_head, circuit, reading, said, type Made } from "./made_readings";

const text = (...raises: [number | null, number | null][]): Made => ({
  rows: {
    attention: raises.map(([value, error], head) =>
      attention_head(1, head, { attended_token_effect: value, attended_token_effect_error: error }),
    ),
  },
});

const part = (component: string, layer: number, head: number | null, loss_increase: number, error: number | null = 0.001) => ({
  component,
  layer,
  head,
  ablation: "mean",
  loss_increase,
  loss_increase_error: error,
  kl: 0.1,
  changed: 0.1,
  direct: 0.1,
  direct_effect_error: 0.01,
  loss: 2.93,
  predicted: 4080,
});

describe("attended-token effect", () => {
  test("a copying head raises the attended token's logit", () => {
    expect(said(attended_token_effect, text([2.6, 0.1], [0.01, 0.02], [-0.3, 0.02]))).toBe(
      "1 of 3 heads raises the logits of the tokens it attends to Direct effect on the attended token's logit: at least +0.10, " +
        "relative to the mean over the text's tokens. Strongest: L1H0, +2.60 ±0.10. 1 head has the opposite effect.",
    );
  });

  test("a suppression head lowers it", () => {
    expect(said(attended_token_effect, text([-1.2, 0.1], [0.2, 0.01]))).toMatch(
      /^1 of 2 heads lowers the logits of the tokens it attends to Direct effect .*: at most −0\.10, .* −1\.20 ±0\.10\. 1 head has/,
    );
  });

  test("a standard error is never shown as 0", () => {
    const of_error = (error: number) => said(attended_token_effect, text([2.6, error], [0.01, 0.02]));
    expect(of_error(0.0049)).toContain("+2.60 ±0.005.");
    expect(of_error(0.00012)).toContain("+2.60 ±0.0001.");
    expect(of_error(0.005)).toContain("+2.60 ±0.01.");
  });

  test("shows the ablation effect if there is one", () => {
    const made = text([2.6, 0.1]);
    expect(said(attended_token_effect, { rows: { ...made.rows, ablate: [part("head", 1, 0, 0.02)] } })).toMatch(
      /Ablating it raises the loss by 0\.020 nats\.$/,
    );
    expect(said(attended_token_effect, { rows: { ...made.rows, ablate: [part("head", 1, 0, -0.002)] } })).toMatch(
      /Ablating it does not change the loss \(within 2 standard errors\)\.$/,
    );
  });

  test.each([
    ["an inactive head", text([0, 0.001])],
    ["an effect within 2 standard errors", text([0.3, 0.15])],
    ["a single text, without a standard error", text([2.6, null])],
    ["a model whose logits are not a sum of component outputs", text([null, null])],
    ["a short text", { ...text([2.6, 0.1]), parameters: { attention: { length: 8 } } }],
  ])("not shown for %s", (_, made) => expect(said(attended_token_effect, made as Made)).toBeUndefined());

  test.each([
    ["an encoder without an LM head", { tied_embedding: null }],
    ["images", { reads: "images" }],
    ["audio", { reads: "sound" }],
    ["an audio encoder", { reads: "sound", stack: "encoder" }],
    ["cross-attention", { stack: "cross" }],
  ] as const)("no finding about token logits for %s", (_, model) => {
    const rows = { circuits: [circuit(1, "ov", 0, { copying_score: 0.95 })] };
    expect(said(copying_heads, { rows, model })).toBeUndefined();
  });

  test("the decoder of an audio model has logits of attended tokens", () => {
    const rows = { circuits: [circuit(1, "ov", 0, { copying_score: 0.95 })] };
    expect(said(copying_heads, { rows, model: { reads: "sound", stack: "decoder" } })).toMatch(/would raise the attended token's logit/);
  });

  test("the finding from weights is not shown if there is one from the text", () => {
    const rows = { circuits: [circuit(1, "ov", 0, { copying_score: -0.95 })] };
    expect(said(copying_heads, { rows })).toMatch(/would lower the attended token's logit/);
    expect(said(copying_heads, { rows: { ...rows, ...text([0.02, 0.01]).rows } })).toBeUndefined();
  });
});

describe("the most important head", () => {
  const made = (...rows: object[]): Made => ({ model: { vocab_size: 1024 }, rows: { ablate: rows } });

  test("shows the head with the largest effect and counts both signs", () => {
    expect(
      said(
        important_head,
        made(part("head", 0, 2, 0.43, 0.03), part("head", 3, 3, -0.004), part("head", 3, 2, 0.001), part("mlp", 0, null, 4.2)),
      ),
    ).toBe(
      "+0.43 nats of loss Ablating L0H2 raises the loss from 2.93 to 3.36 (±0.03), the largest effect of any head. Beyond 2 standard " +
        "errors, ablation raises the loss for 1 of 3 heads and lowers it for 1.",
    );
  });

  test("also shows a head that lowers the loss when ablated", () => {
    expect(said(important_head, made(part("head", 0, 2, 0.02), part("head", 1, 1, -0.35, 0.012)))).toBe(
      "−0.35 nats of loss Ablating L1H1 lowers the loss from 2.93 to 2.58 (±0.01), the largest effect of any head. Beyond 2 standard " +
        "errors, ablation raises the loss for 1 of 2 heads and lowers it for 1.",
    );
  });

  test("prefers a significant head to one with a large standard error", () => {
    expect(said(important_head, made(part("head", 0, 2, 0.5, 0.3), part("head", 1, 1, 0.2)))).toMatch(/^\+0\.20 nats .* L1H1 /);
  });

  test("mentions that it is a previous-token head", () => {
    const rows = { ablate: [part("head", 0, 2, 0.43)], attention: [attention_head(0, 2, { previous_token: 0.96 })] };
    expect(said(important_head, { model: { vocab_size: 1024 }, rows })).toMatch(/ It is a previous-token head\./);
  });

  test.each([
    ["inactive heads", made(part("head", 0, 0, 0.004))],
    ["effects within chance", made(part("head", 0, 0, 0.5, 0.3))],
    ["a single window, without a standard error", made(part("head", 0, 0, 0.5, null))],
    ["the largest of many heads by chance", made(...Array.from({ length: 36 }, (_, head) => part("head", 0, head, head / 720, 0.015)))],
    ["a model that predicts no better than a uniform distribution", made({ ...part("head", 0, 2, 0.43, 0.03), loss: 7.1 })],
    ["an unknown vocabulary size", { rows: { ablate: [part("head", 0, 2, 0.43, 0.03)] } }],
    ["MLPs", made(part("mlp", 0, null, 4.2))],
  ])("not shown for %s", (_, rows) => expect(said(important_head, rows)).toBeUndefined());
});

describe("charts of ablation effects", () => {
  const rows = {
    ablate: [part("head", 0, 2, 0.43, 0.03), part("head", 1, 0, 0.001), part("attention", 0, null, 2), part("mlp", 0, null, 40)],
    attention: [attention_head(1, 0, { attended_token_effect: 0.2, attended_token_effect_error: 0.01 })],
    circuits: [circuit(1, "ov", 0, { copying_score: -0.8 })],
    lens: [
      { layer: 0, state: "resid_pre", loss: 16, entropy: 1, kl: 13 },
      { layer: 1, state: "resid_pre", loss: 2.9, entropy: 2.5, kl: 0 },
    ],
  };
  const made = reading({ model: { vocab_size: 1024 }, rows });

  test("heads within 2 standard errors are empty", () => {
    const chart = heads_chart(made)!;
    expect(chart.cells[0]![2]).toBe(430);
    expect(chart.cells[1]![0]).toBeNull();
    expect(chart.cells[1]![1]).toBe("missing");
  });

  test("mixers have a column next to the heads, and bars", () => {
    const hybrid = reading({ rows: { ablate: [...rows.ablate, part("mixer", 1, null, 0.2, 0.03)] } });
    const chart = heads_chart(hybrid)!;
    expect(chart.columns.labels).toEqual([...range(hybrid.model.heads).map(String), "mixer"]);
    expect(chart.cells.map((row) => row[hybrid.model.heads]).slice(0, 2)).toEqual(["missing", 200]);
    expect(cell_words(chart, 1, hybrid.model.heads)).toBe("layer 1, mixer: +200");
    expect(cell_words(chart, 0, 2)).toBe("L0H2: +430");
    expect(heads_chart(made)!.columns.labels).not.toContain("mixer");
    const bars = layers_chart(hybrid)!;
    expect(bars.title).toBe("Ablation effect of attention, mixer and MLP");
    expect(bars.columns.map(({ series, heights }) => [series, heights[1]])).toEqual([
      ["attention", null],
      ["mixer", 0.2],
      ["mlp", null],
    ]);
    expect(layers_chart(made)!.series.map(({ key }) => key)).toEqual(["attention", "mlp"]);
  });

  test("a bar much higher than the others is clipped and labeled", () => {
    const chart = layers_chart(made)!;
    expect(chart.y.domain[1]).toBeCloseTo(3, 1);
    const words = all_by_tag(draw(chart, kLight, { width: 800 }), "text").flatMap(({ children }) => children);
    expect(words).toContain("▴ MLP 40.00");
    expect(chart.columns.map(({ series, gray }) => [series, gray?.[0]])).toEqual([
      ["attention", false],
      ["mlp", false],
    ]);
  });

  test("the axis of the logit lens ends at ln V, and the caption lists layers above it", () => {
    const chart = lens_chart(made)!;
    expect(chart.y.domain[1]).toBeCloseTo(Math.log(1024));
    expect(chart.note).toMatch(/Above the scale: layer 0\./);
    expect(chart.rule).toBe(2.9);
  });

  test("copying score is plotted against the measured effect", () => {
    expect(copying_effect_chart(made)!.points).toMatchObject([{ x: -0.8, y: 0.2 }]);
  });

  test("no charts without rows", () => {
    const bare = reading({});
    for (const chart of [heads_chart, layers_chart, lens_chart, copying_effect_chart]) expect(chart(bare)).toBeUndefined();
  });
});

describe("logit lens by token", () => {
  const cell = (position: number, layer: number, rank: number, top_text: string | null) => ({
    position,
    layer,
    state: "resid_pre",
    token_id: 40 + position,
    text: position === 0 ? "\n" : null,
    top_token: 7,
    top_text,
    probability: 0.5,
    rank,
    entropy: 1,
    kl: 1,
  });

  test("cells show the top-1 token, colored by the rank of the final prediction", () => {
    const rows = {
      lens_grid: [cell(0, 0, 300, null), cell(0, 1, 1, " the"), cell(1, 0, 12, "a"), { ...cell(1, 1, 5, "x"), state: "mid" }],
    };
    const chart = lens_grid_chart(reading({ model: { vocab_size: 1024 }, rows }));
    expect(chart?.cells).toEqual([
      [300, 1],
      [12, "missing"],
    ]);
    expect(chart?.words).toEqual([
      ["#7", " the"],
      ["a", ""],
    ]);
    expect(chart?.rows.labels).toEqual(["0 ⏎", "1 #41"]);
    expect(chart && cell_words(chart, 0, 1)).toMatch(/^token 0 ⏎, layer 1: .*the”, rank of the final prediction: 1$/);
    expect(lens_grid_chart(reading({}))).toBeUndefined();
  });
});
