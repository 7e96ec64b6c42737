// Attention maps between two texts, on an image, and on audio.
import { describe, expect, test } from "vitest";
import { map_cell, map_layout, map_words } from "../../src/chart/attention_map";
import { image_patches_words, token_at, type ImagePatchesChart } from "../../src/chart/image_patches";
import { frame_at, audio_frames_words } from "../../src/chart/audio_frames";
import { byte_of_weight } from "../../src/data/maps";
import { stored_map } from "../../src/shaping/head_maps";
import { stacks_of } from "../../src/shaping/stacks";
import { text_facts } from "../../src/shaping/texts";
import { axes_of, shape_of } from "../../src/views/attention/axes";
import { attention_choice, head_facts, map_chart, max_rank_chart } from "../../src/views/attention/charts";
import { image_patches_chart, audio_frames_chart } from "../../src/views/attention/media_charts";
import { text_heatmaps } from "../../src/views/attention/text_heatmaps";
import { attention_view } from "../../src/views/attention/view";
import { analysis_of, attention_row, heads_of, kModel, reading_of, report_of } from "./report_by_hand";

const tokens = (...texts: string[]) => texts.map((text, id) => ({ id, text }));

describe("pairs of texts", () => {
  const pair = { a_to_b: 0.25, uniform_a_to_b: 0.4, b_to_a: 0.5, uniform_b_to_a: 0.3 };
  const charts_with = (own: object) => {
    const rows = heads_of(kModel).map((each) => attention_row("small", each, own));
    const report = report_of({
      texts: [{ model: "small", tokens: tokens("a", "b") }],
      reports: [analysis_of("attention", rows, { length: 2, energy: 0.9 })],
    });
    const reading = reading_of(report, { l: "0", h: "1" });
    return { rows, charts: text_heatmaps(reading, attention_choice(reading)) };
  };

  test("have heatmaps of the attention between the texts, with the uniform baseline", () => {
    const { rows, charts } = charts_with(pair);
    const forward = charts.find(({ name }) => name === "attention-a-to-b")!;
    expect(forward.title).toBe("A → B");
    expect(forward.note).toContain("Uniform: 40%");
    expect(charts.find(({ name }) => name === "attention-b-to-a")!.note).toContain("Uniform: 30%");
    const facts = head_facts(rows[0] as never).slice(-2);
    expect(facts.map(({ label }) => label)).toEqual(["A → B", "B → A"]);
  });

  test("the uniform baseline is a range if layers differ, as with a sliding window", () => {
    const rows = heads_of(kModel).map((each) =>
      attention_row("small", each, { ...pair, uniform_a_to_b: each.layer === 0 ? 0.4 : 0.1, uniform_b_to_a: 0.3 }),
    );
    const report = report_of({
      texts: [{ model: "small", tokens: tokens("a", "b") }],
      reports: [analysis_of("attention", rows, { length: 2, energy: 0.9 })],
    });
    const reading = reading_of(report, { l: "0", h: "1" });
    const charts = text_heatmaps(reading, attention_choice(reading));
    expect(charts.find(({ name }) => name === "attention-a-to-b")!.note).toContain("Uniform: 10% to 40%, depending on the layer");
    expect(charts.find(({ name }) => name === "attention-b-to-a")!.note).toMatch(/Uniform: 30%\.$/);
  });

  test("other texts have none", () => {
    expect(charts_with({}).charts.some(({ name }) => name.startsWith("attention-a-to"))).toBe(false);
  });
});

describe("cross-attention", () => {
  const place = { model: "small", layer: 0, head: 1, tokens: 2, keys: 3, causal: false, side: 2, key_side: 3, at: 0 };
  const rows = heads_of(kModel).map((each) =>
    attention_row("small", each, {
      diagonality: 0.75,
      uniform_diagonality: 0.6,
      monotonicity: 1,
      previous_token: null,
      current_token: null,
    }),
  );
  const layer = { model: "small", layer: 0, head: null, sequences: 1, max_rank: 2, mean_max_rank: 2, mean_max_rank_error: null };
  const report = report_of(
    {
      texts: [{ model: "small", tokens: tokens("a", "b"), source: tokens("x", "y", "z") }],
      maps: [place],
      reports: [analysis_of("attention", [...rows, layer], { length: 3, target_length: 2, energy: 0.9 })],
    },
    Uint8Array.of(255, 0, 0, 0, byte_of_weight(0.5), byte_of_weight(0.5)),
  );
  const reading = reading_of(report, { l: "0", h: "1" });
  const chart = map_chart(reading, attention_choice(reading), stored_map(report, "small", { layer: 0, head: 1 })!);

  test("rows are the target's tokens and columns the source's", () => {
    expect(chart.labels).toEqual({ queries: ["a", "b"], keys: ["x", "y", "z"] });
    expect(map_words(chart, 1, 2)).toBe("“b” (1) attends to “z” (2): ≈ 0.5");
    const layout = map_layout(chart, { width: 600 });
    expect(layout.plot.width / layout.plot.height).toBeCloseTo(1.5);
    expect(map_cell(layout, layout.plot.x + layout.plot.width - 1, layout.plot.y + layout.plot.height - 1)).toEqual({ query: 1, key: 2 });
  });

  test("no side of a map is drawn shorter than a third of the other", () => {
    const { plot } = map_layout({ ...chart, shape: { queries: 2, keys: 90 } }, { width: 600 });
    expect(plot.width / plot.height).toBeCloseTo(3);
  });

  test("alignment measures have a uniform baseline and replace measures of one text", () => {
    expect(head_facts(rows[0] as never).map(({ label }) => label)).toEqual([
      "energy rank",
      "energy columns",
      "nats entropy",
      "first token",
      "diagonality",
      "monotonicity",
    ]);
    const charts = text_heatmaps(reading, attention_choice(reading));
    const diagonal = charts.find(({ name }) => name === "attention-diagonality")!;
    expect(diagonal.note).toContain("Uniform: 0.60");
    expect(diagonal.scale.domain).toEqual([0.6, 1]);
    expect(charts.some(({ name }) => name === "attention-previous")).toBe(false);
  });

  test("the maximum rank of a map is the length of the shorter text", () => {
    expect(text_facts(reading)).toMatchObject({ length: 3, directions: 2 });
    expect(max_rank_chart(reading, attention_choice(reading))!.title).toBe("MaxRank by layer (maximum possible: 2)");
  });

  test("stacks of one model are grouped", () => {
    const named = (name: string) => ({ ...kModel, name });
    const models = ["a:encoder", "b:encoder", "a:cross", "plain"].map(named);
    expect(stacks_of(models, models[0]!).map(({ index, stack }) => [index, stack])).toEqual([
      [0, "encoder"],
      [2, "cross"],
    ]);
    expect(stacks_of(models, models[3]!)).toEqual([]);
  });
});

describe("an image", () => {
  const count = 1 + 2 * 3;
  const picture = { model: "small", rows: 2, cols: 3, patch_rows: 2, patch_cols: 3, names: ["class token"], at: 0 };
  const weights = Uint8Array.from({ length: count * count }, (_, index) => (index % count === 2 ? 255 : 0));
  const place = { model: "small", layer: 0, head: 0, tokens: count, causal: false, side: count, at: 18 };
  const report = report_of({ pictures: [picture], maps: [place] }, Uint8Array.from([...new Uint8Array(18).fill(7), ...weights]));
  const reading = reading_of(report, { l: "0", h: "0" });
  const map = stored_map(report, "small", { layer: 0, head: 0 })!;

  test("axes are the other tokens, then patches by row and column", () => {
    const axes = axes_of(reading)!;
    expect(axes.queries.slice(0, 3)).toEqual(["class token", "patch 0,0", "patch 0,1"]);
    expect(axes.queries[6]).toBe("patch 1,2");
    expect(shape_of(axes)).toEqual({ queries: 7, keys: 7 });
    expect(map_words(map_chart(reading, attention_choice(reading), map), 0, 2)).toBe("“class token” (0) attends to “patch 0,1” (2): ≈ 1");
  });

  test("the class token's attention is shown until a patch is selected", () => {
    const chart = image_patches_chart(report, picture, map, "log");
    expect([chart.title, chart.query]).toEqual(["Attention of the class token", 0]);
    expect([...chart.pixels]).toEqual(Array.from({ length: 18 }, () => 7));
    expect(image_patches_words(chart, 0, 1)).toBe("patch 0,1: ≈ 1");
    expect(image_patches_words(chart, 2, 0)).toBe("class token: ≈ 0");
    expect(image_patches_chart(report, picture, map, "log", 6).title).toBe("Attention of patch 1,2");
    expect(image_patches_chart(report, { ...picture, names: [] }, map, "log").title).toBe("Mean attention");
  });

  test("cells of the grid are tokens", () => {
    const chart = { names: ["class token", "register 0"], patches: { rows: 2, columns: 3 } } as unknown as ImagePatchesChart;
    expect([token_at(chart, 0, 0), token_at(chart, 1, 2), token_at(chart, 2, 1)]).toEqual([2, 7, 1]);
  });

  test("its chart is exported", () => {
    expect(attention_view.charts!(reading).map(({ name }) => name)).toContain("attention-picture");
  });
});

describe("audio", () => {
  const sound = { model: "small", seconds: 2, frames: 4, at: 0 };
  const place = { model: "small", layer: 0, head: 0, tokens: 4, causal: false, side: 4, at: 4 };
  const report = report_of(
    { sounds: [sound], maps: [place] },
    Uint8Array.of(0, 10, 255, 3, ...new Uint8Array(16).fill(byte_of_weight(0.25))),
  );
  const reading = reading_of(report, { l: "0", h: "0" });
  const map = stored_map(report, "small", { layer: 0, head: 0 })!;

  test("axes are times of the middle of each frame", () => {
    expect(axes_of(reading)!.queries).toEqual(["0.25\u202fs", "0.75\u202fs", "1.25\u202fs", "1.75\u202fs"]);
  });

  test("attention of a frame", () => {
    const chart = audio_frames_chart(report, sound, map, "log", 2);
    expect(chart.title).toBe("Attention of the frame at 1.25\u202fs");
    expect([...chart.levels]).toEqual([0, 10, 255, 3]);
    expect(audio_frames_words(chart, 399, 400)).toBe("frame 3, 1.75\u202fs: ≈ 0.25");
    expect([frame_at(chart, -1, 400), frame_at(chart, 400, 400)]).toEqual([undefined, undefined]);
  });
});
