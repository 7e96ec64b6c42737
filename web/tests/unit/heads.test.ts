import { describe, expect, test } from "vitest";
import { correlation_words } from "../../src/page/direction_lists";
import { chosen_head, rank_scale, why_skipped } from "../../src/shaping/head_grid";
import {
  composition_chart,
  detail_chart,
  energy_chart,
  head_charts,
  head_heatmaps,
  kinds_chart,
  shares_keys_with,
} from "../../src/views/heads/charts";
import { analysis_of, attention_row, circuit_row, heads_of, kModel, reading_of, report_of } from "./report_by_hand";

const heads = heads_of(kModel);
const circuits = (rows: object[], skipped: object[] = []) => report_of({ reports: [analysis_of("circuits", rows, {}, skipped)] });
const both = (more: (place: { layer: number; head: number }) => object = () => ({})) =>
  heads.flatMap((place) => (["qk", "ov"] as const).map((circuit) => circuit_row("small", circuit, place, more(place))));
const heatmap = (reading: Parameters<typeof head_heatmaps>[0], name: string) =>
  head_heatmaps(reading).find((chart) => chart.name === name)!;

test("correlation text", () => {
  expect(correlation_words(0.9)).toBe("correlation with token scores on this text: 0.90");
  expect(correlation_words(-0.1)).toContain(": \u22120.10");
});

describe("heatmaps of heads", () => {
  test("six, with one row per layer and one column per query head, also with grouped-query attention", () => {
    const charts = head_heatmaps(reading_of(circuits(both())), { layer: 1, head: 2 });
    expect(charts).toHaveLength(6);
    for (const chart of charts) {
      expect(chart.cells.map((row) => row.length)).toEqual([4, 4, 4]);
      expect(chart.chosen).toEqual({ row: 1, column: 2 });
    }
  });

  test("distinguish no value, no row and a skipped row", () => {
    const rows = both().filter(({ layer, head }) => !(layer === 2 && (head === 0 || head === 1)));
    const skipped = [{ model: "small", layer: 2, matrix: "k", head: 1, reason: "contains NaN" }];
    const report = circuits(
      rows.map((row) => (row.layer === 0 && row.head === 3 ? { ...row, symmetry: null } : row)),
      skipped,
    );
    const { cells } = heatmap(reading_of(report), "heads-symmetry");
    expect([cells[0]![3], cells[2]![0], cells[2]![1], cells[1]![1]]).toEqual([null, "missing", { skipped: "contains NaN" }, 0.2]);
    expect(why_skipped(report, "small", "circuits", { layer: 2, head: 1 }, "ov")).toBeUndefined();
  });

  test("scales: scores span their limits, ranks down to 0.7 of the maximum", () => {
    const reading = reading_of(circuits(both()));
    expect(heatmap(reading, "heads-symmetry").scale.domain).toEqual([-1, 1]);
    expect(heatmap(reading, "heads-identity").scale.domain).toEqual([-0.5, 0.5]);
    expect(rank_scale([32, 31, 30]).domain).toEqual([32, 22]);
    expect(rank_scale([32, 10]).domain).toEqual([32, 10]);
    expect(rank_scale([]).domain[0]).toBeGreaterThan(rank_scale([]).domain[1]);
  });

  test("ranks come from spectra if circuits are missing", () => {
    const report = report_of({
      reports: [
        analysis_of(
          "spectrum",
          heads.map((place) => ({
            model: "small",
            matrix: "qk",
            ...place,
            energy_rank: { "0.9": 7 },
            random_energy_rank: { "0.9": 8 },
            max_possible_rank: 8,
          })),
        ),
      ],
    });
    const chart = heatmap(reading_of(report), "heads-qk-rank");
    expect(chart.cells[0]![0]).toBe(7);
    expect(chart.note).toContain("random: 8");
  });
});

describe("the selected head", () => {
  test("comes from the address if it is in the model", () => {
    const report = circuits(both());
    expect(chosen_head(reading_of(report, { l: "2", h: "3" }))).toEqual({ layer: 2, head: 3 });
    expect(chosen_head(reading_of(report, { l: "99", h: "1" }))).toEqual({ layer: 0, head: 1 });
    expect(chosen_head(reading_of(report))).toMatchObject({ layer: 0, head: 0 });
  });

  test("is by default the strongest previous-token head with a full map", () => {
    const rows = heads.map((place) => attention_row("small", place, { previous_token: place.layer * 0.1 + place.head * 0.01 }));
    const reports = [analysis_of("attention", rows)];
    expect(chosen_head(reading_of(report_of({ reports })))).toMatchObject({ layer: 2, head: 3 });
    const place = { model: "small", layer: 1, head: 0, tokens: 8, side: 8, causal: true, at: 0 };
    expect(chosen_head(reading_of(report_of({ reports, maps: [place, { ...place, layer: 2, side: 4 }] })))).toMatchObject({
      layer: 1,
      head: 0,
    });
  });

  test("shares its KV head with its group", () => {
    const reading = reading_of(circuits([]));
    expect(shares_keys_with(reading, 3)).toEqual({ group: 1, heads: [2] });
    expect(shares_keys_with({ ...reading, model: { ...kModel, kv_heads: 4 } }, 3)).toBeUndefined();
  });

  test("is a dot among all heads, or missing without a value", () => {
    const report = circuits(both((place) => ({ copying_score: place.layer === 1 && place.head === 2 ? null : 0.5 })));
    const chart = detail_chart(reading_of(report), { layer: 1, head: 2 });
    const row = chart.rows.find((each) => each.label === "OV copying score")!;
    expect(row.value).toBeNull();
    expect(row.all).toHaveLength(11);
  });
});

test("cumulative energy of a head's circuits ends at 1, also for values in the row itself", () => {
  const row = { model: "small", layer: 0, head: 0, energy_rank: { "0.9": 1 }, random_energy_rank: { "0.9": 2 }, max_possible_rank: 2 };
  const rows = [
    { ...row, matrix: "qk", singular_values: { at: 0, length: 2 }, random_singular_values: { at: 2, length: 2, scale: 2 } },
    { ...row, matrix: "ov", singular_values: [3, 4], random_singular_values: [1, 1] },
  ];
  const report = report_of({ reports: [analysis_of("spectrum", rows)] }, undefined, Float32Array.of(2, 1, 1, 1));
  const chart = energy_chart(reading_of(report), { layer: 0, head: 0 })!;
  expect(chart.panels[0]!.lines.map((line) => [line.series, [...Array.from(line.y)].map((y) => Number(y!.toFixed(3)))])).toEqual([
    ["null", [0, 0.5, 1]],
    ["qk", [0, 0.8, 1]],
    ["ov", [0, 0.36, 1]],
  ]);
  expect(energy_chart(reading_of(report), { layer: 1, head: 0 })).toBeUndefined();
});

test("a head without both scores is not plotted", () => {
  const report = circuits(both((place) => (place.head === 0 ? { symmetry: null } : {})));
  expect(kinds_chart(reading_of(report))!.points).toHaveLength(9);
  expect(kinds_chart(reading_of(circuits([])))).toBeUndefined();
});

describe("composition", () => {
  const pair = (kind: string, head: number, receiver_head: number, excess: number | null) => ({
    model: "small",
    kind,
    layer: 0,
    head,
    receiver_layer: 1,
    receiver_head,
    score: 0.4,
    excess,
  });
  const report = report_of({
    reports: [analysis_of("composition", [pair("q", 0, 1, 0.1), pair("k", 2, 3, 0.3), pair("v", 1, 1, -0.1), pair("v", 3, 0, null)])],
  });

  test("strongest pairs first, only above random", () => {
    const chart = composition_chart(reading_of(report), { pairs: 40 })!;
    expect(chart.edges.map((edge) => edge.series)).toEqual(["k", "q"]);
    expect(chart.edges[0]!.strength).toBe(1);
    expect(composition_chart(reading_of(report), { pairs: 1 })!.edges).toHaveLength(1);
  });

  test("only pairs with a given head", () => {
    expect(composition_chart(reading_of(report), { pairs: 40, around: { layer: 1, head: 1 } })!.edges.map((edge) => edge.series)).toEqual([
      "q",
    ]);
    expect(composition_chart(reading_of(report_of({})), { pairs: 40 })).toBeUndefined();
  });
});

test("a report without circuits has no charts of heads", () => {
  expect(head_charts(reading_of(report_of({})))).toEqual([]);
});
