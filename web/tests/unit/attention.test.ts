import { describe, expect, test } from "vitest";
import { map_words } from "../../src/chart/attention_map";
import { map_grid_words } from "../../src/chart/attention_map_grid";
import { progress_words } from "../../src/live/jobs";
import { exact_map, attention_of_query, mean_attention_to_keys, stored_map, without_first_token } from "../../src/shaping/head_maps";
import { collapsed_words } from "../../src/shaping/shared_words";
import { attention_choice, head_facts, map_chart, max_rank_chart, profile_chart, map_grid_chart } from "../../src/views/attention/charts";
import { select_queries } from "../../src/views/attention/selected_query";
import { text_heatmaps } from "../../src/views/attention/text_heatmaps";
import { ends_line, shown_token } from "../../src/shaping/tokens";
import { attention_view } from "../../src/views/attention/view";
import { is_zoomed, moved, whole_window, window_param, window_text, zoomed } from "../../src/views/attention/map_window";
import { analysis_of, attention_row, uniform_triangle, heads_of, kModel, reading_of, report_of } from "./report_by_hand";

const heads = heads_of(kModel);
const rows = heads.map((place) => attention_row("small", place, { energy_rank: 1 + place.head }));
const layers = [0, 1, 2].map((layer) => ({
  model: "small",
  layer,
  head: null,
  sequences: 2,
  max_rank: 4,
  mean_max_rank: 5,
  mean_max_rank_error: 0.5,
  mean_energy_columns: 3,
  collapsed: layer > 0,
}));
const parameters = { length: 8, sequences: 2, energy: 0.9 };
const text = { model: "small", tokens: Array.from({ length: 8 }, (_, id) => ({ id, text: ` t${id}` })) };
const whole = { model: "small", layer: 0, head: 1, tokens: 8, side: 8, causal: true, at: 0 };
const triangle = uniform_triangle(8);
const thumbnail = { ...whole, head: 2, side: 4, causal: false, at: triangle.length };
const bytes = new Uint8Array([...triangle, ...new Uint8Array(16).fill(100)]);
const report = report_of(
  {
    reports: [
      analysis_of("attention", [...rows, ...layers], parameters),
      analysis_of(
        "attention_excluding_first",
        rows.map((row) => ({ ...row, energy_rank: 9 })),
        parameters,
      ),
    ],
    texts: [text],
    maps: [whole, thumbnail],
  },
  bytes,
);
const reading = reading_of(report);

describe("maps", () => {
  const map = stored_map(report, "small", { layer: 0, head: 1 })!;

  test("a stored map is decoded once", () => {
    expect(stored_map(report, "small", { layer: 0, head: 1 })).toBe(map);
    expect(without_first_token(map)).toBe(without_first_token(map));
    expect(stored_map(report, "small", { layer: 2, head: 3 })).toBeUndefined();
  });

  test("attention of a query, and mean attention to a key", () => {
    expect(
      attention_of_query(map, 3)
        .slice(0, 5)
        .map((weight) => Number(weight.toFixed(2))),
    ).toEqual([0.25, 0.25, 0.25, 0.25, 0]);
    expect(mean_attention_to_keys(map)[7]).toBeCloseTo(0.125, 2);
    expect(mean_attention_to_keys({ ...map, causal: false })[7]).toBeCloseTo(0.125 / 8, 3);
  });

  test("excluding the first key sets its weights to 0, except in thumbnails", () => {
    expect(attention_of_query(without_first_token(map), 3)[0]).toBe(0);
    const small = stored_map(report, "small", { layer: 0, head: 2 })!;
    expect(without_first_token(small)).toBe(small);
  });

  test("exact weights are shown without ≈, and causality is detected", () => {
    const exact = exact_map(Float32Array.of(1, 0, 0.5, 0.5), { queries: 2, keys: 2 });
    expect(exact.causal).toBe(true);
    expect(exact_map(Float32Array.of(0.5, 0.5, 0.5, 0.5), { queries: 2, keys: 2 }).causal).toBe(false);
    const choice = attention_choice(reading);
    expect(map_words(map_chart(reading, choice, exact), 1, 0)).toBe("token 1 attends to token 0: 0.5");
    expect(map_words(map_chart(reading, choice, map), 3, 1)).toBe("“ t3” (3) attends to “ t1” (1): ≈ 0.25");
  });

  test("a thumbnail has no tokens and no entropy, and its tooltip describes cells", () => {
    const chart = map_chart(reading, attention_choice(reading), stored_map(report, "small", { layer: 0, head: 2 })!);
    expect([chart.labels, chart.entropy]).toEqual([undefined, undefined]);
    expect(map_words(chart, 1, 0)).toMatch(/^tokens 2 to 3 attending to tokens 0 to 1: at most ≈ /);
  });

  test("the grid of maps distinguishes full, thumbnail and missing maps", () => {
    const wall = map_grid_chart(reading, attention_choice(reading));
    expect([1, 2, 3].map((head) => map_grid_words(wall, 0, head))).toEqual(["L0H1", "L0H2: thumbnail", "L0H3: no map in this report"]);
  });
});

describe("charts", () => {
  test("ranks depend on the selected keys", () => {
    const first = (params: Record<string, string>) => {
      const chosen = reading_of(report, { l: "1", h: "0", ...params });
      return Array.from(profile_chart(chosen, attention_choice(chosen))!.panels[0]!.lines[0]!.y);
    };
    expect(first({})).toEqual([1, 2, 3, 4]);
    expect(first({ keys: "others" })).toEqual([9, 9, 9, 9]);
  });

  test("MaxRank shows means over texts with standard errors, and the highest mean of a head", () => {
    const { lines } = max_rank_chart(reading, attention_choice(reading))!.panels[0]!;
    expect(lines.map((line) => [line.series, Array.from(line.y)])).toEqual([
      ["mean", [5, 5, 5]],
      ["max", [4, 4, 4]],
    ]);
    expect(Array.from(lines[0]!.error!)).toEqual([0.5, 0.5, 0.5]);
  });

  test("heatmap scales: fractions 0 to 1, entropy up to uniform attention", () => {
    const charts = text_heatmaps(reading, attention_choice(reading));
    expect(charts.find((chart) => chart.name === "attention-first")!.scale.domain).toEqual([0, 1]);
    expect(charts.find((chart) => chart.name === "attention-entropy")!.scale.domain[1]).toBeCloseTo(Math.log(8));
    expect(charts.some((chart) => chart.name === "attention-induction")).toBe(false);
  });

  test("heatmaps without values are omitted", () => {
    const names = (of: (row: Record<string, unknown>) => Record<string, unknown>) => {
      const reports = report.file.reports.map((part) => ({
        ...part,
        rows: part.rows.map((row) => of(row as unknown as Record<string, unknown>)),
      }));
      const changed = reading_of({ ...report, file: { ...report.file, reports: reports as never } }, { l: "1", h: "0" });
      return text_heatmaps(changed, attention_choice(changed)).map((chart) => chart.name);
    };
    expect(names((row) => row)).not.toContain("attention-patches");
    expect(names((row) => ({ ...row, patch_distance: row.head === null ? null : 2 }))).toContain("attention-patches");
    const across = names((row) => ({ ...row, previous_token: null, current_token: null, mean_distance: undefined }));
    expect(across).toContain("attention-entropy");
    for (const of_places of ["previous", "itself", "distance"]) expect(across).not.toContain(`attention-${of_places}`);
  });

  test("collapsed layers are listed if the report decides it", () => {
    const fields = { attention: [{ name: "collapsed", type: "flag", meaning: "", words: "rank below 2" }] };
    const named = (collapsed: (boolean | null)[]) =>
      collapsed_words(
        report_of({ fields }),
        collapsed.map((value, layer) => ({ ...layers[0]!, layer, collapsed: value as boolean }) as never),
      );
    expect(named([false, true, true, false, true])).toBe("Layers 1, 2 and 4 have collapsed (rank below 2).");
    expect(named([false, true])).toMatch(/^Layer 1 has collapsed \(/);
    expect(named([false, false])).toMatch(/^No layer has collapsed \(rank below 2/);
    expect(named([null, null])).toBeUndefined();
    expect(named([])).toBeUndefined();
  });

  test("a head's measures", () => {
    expect(
      head_facts(rows[0] as never)
        .map(({ value, label }) => `${value} ${label}`)
        .join(", "),
    ).toBe(
      "1 energy rank, 6 energy columns, 1.50 nats entropy, 25% first token, 10% previous token, 20% current token, " +
        "3.3 tokens mean distance",
    );
  });

  test("a report without a text has no measures", () => {
    expect(attention_view.charts!(reading_of(report_of({})))).toEqual([]);
  });
});

describe("the window of a map", () => {
  const square = (side: number) => ({ queries: side, keys: side });

  test("zooms around a fixed cell, between 8 tokens and all", () => {
    const all = square(1024);
    const closer = zoomed(whole_window(all), all, 2, { query: 256, key: 768 });
    expect(closer).toEqual({ query: 128, key: 384, ...square(512) });
    expect(zoomed(closer, all, 1000).queries).toBe(8);
    expect(zoomed(closer, all, 0.001)).toEqual(whole_window(all));
    expect(is_zoomed(closer, all)).toBe(true);
  });

  test("moves within the map", () => {
    expect(moved({ query: 10, key: 10, ...square(64) }, square(100), -50, 500)).toEqual({ query: 0, key: 36, ...square(64) });
  });

  test("keeps the aspect ratio of a cross-attention map", () => {
    const across = { queries: 20, keys: 50 };
    expect(zoomed(whole_window(across), across, 2)).toEqual({ query: 5, key: 13, queries: 10, keys: 25 });
    expect(moved({ query: 5, key: 13, queries: 10, keys: 25 }, across, 50, 50)).toEqual({ query: 10, key: 25, queries: 10, keys: 25 });
    expect(window_param({ view: "attention", params: { z: "3,4,8" } }, across)).toEqual({ query: 3, key: 4, queries: 8, keys: 20 });
  });

  test("is parsed from the address; invalid values give the full map", () => {
    const all = square(100);
    const read = (z: string) => window_param({ view: "attention", params: { z } }, all);
    expect(read("20,30,16")).toEqual({ query: 20, key: 30, ...square(16) });
    expect(read("90,90,64")).toEqual({ query: 36, key: 36, ...square(64) });
    for (const z of ["", "a", "1,2", "-1,2,3"]) expect(read(z)).toEqual(whole_window(all));
    expect(window_text(read("20,30,16"), all)).toBe("20,30,16");
    expect(window_text(whole_window(all), all)).toBeNull();
  });
});

test("a query under the pointer takes precedence over a kept one, and a second click releases it", () => {
  const held: (number | undefined)[] = [];
  const pointing = select_queries(4, (query) => held.push(query));
  expect(pointing.query()).toBe(4);
  pointing.point(7);
  expect(pointing.query()).toBe(7);
  pointing.hold(7);
  pointing.point(undefined);
  expect(pointing.query()).toBe(7);
  pointing.hold(7);
  expect(pointing.query()).toBeUndefined();
  expect(held).toEqual([7, undefined]);
});

test("tokens show invisible characters, without bidirectional effects", () => {
  expect(["\n", "\\n", " to", "   ", "\u001b[31m", "a\u202eb", "\t"].map(shown_token)).toEqual([
    "⏎",
    "⏎",
    " to",
    "␣␣␣",
    "␛[31m",
    "a⟨U+202E⟩b",
    "⇥",
  ]);
  expect(["\n", "\\n", "a"].map(ends_line)).toEqual([true, true, false]);
});

test("progress text", () => {
  expect(progress_words({ done: 3, total: 12 })).toBe("3 of 12");
  expect(progress_words({ done: 3, total: 12, seconds_left: 8.2 })).toBe("3 of 12, about 8 s left");
  expect(progress_words({ done: 0, total: 0, seconds_left: null })).toBe("running");
});
