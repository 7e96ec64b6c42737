import { describe, expect, test } from "vitest";
import { overlap_matrix } from "../../src/data/matrix";
import { row_at } from "../../src/data/report";
import {
  chance_overlap,
  closest_pair,
  cosine_charts,
  cosine_moment_chart,
  overlap_by_layer_chart,
  overlap_chart,
} from "../../src/views/similarity/charts";
import { cosine_deviation } from "../../src/shaping/random_baselines";
import { kModel, reading } from "./small_report";

describe("cosines", () => {
  test("within and across heads share one range and scale; one head has no pairs", () => {
    const [within] = cosine_charts(reading(), "within_head");
    const [across] = cosine_charts(reading(), "across_head");
    expect(within!.x.domain).toEqual(across!.x.domain);
    expect(within!.scale).toEqual(across!.scale);
    expect(Array.from(within!.rows[0]!.density!)).toEqual([0, 0.25, 0.75, 0]);
    expect(across!.rows.map((row) => row.why)).toEqual(["no pairs", "skipped", undefined]);
  });

  test("the baseline is the standard deviation of random directions", () => {
    expect(cosine_deviation(kModel.hidden_size)).toBe(0.5);
    expect(cosine_charts(reading(), "within_head")[0]!.null_std).toBe(0.5);
    expect(cosine_moment_chart(reading(), "std").rule).toBe(0.5);
    expect(cosine_moment_chart(reading(), "mean").rule).toBe(0);
  });

  test("moments come from rows; no pairs give no value", () => {
    const [panel] = cosine_moment_chart(reading(), "mean").panels;
    expect(panel!.lines.map((line) => Array.from(line.y))).toEqual([[0.125], [null]]);
  });
});

describe("overlap", () => {
  const row = (layer: number) => row_at(reading().report, "overlap", { model: "small", layer, matrix: "q" })!;

  test("matrices are read from rows and from the values block", () => {
    expect(overlap_matrix(reading().report, row(0))).toEqual([
      [1, 0.75],
      [0.75, 1],
    ]);
    expect(overlap_matrix(reading().report, row(2))).toEqual([
      [1, null],
      [null, 1],
    ]);
    expect(overlap_matrix(reading().report, { ...row(0), overlap: { at: 15, length: 1, shape: [1, 1] } })).toEqual([[null]]);
  });

  test("the closest pair excludes self-pairs and heads without a value", () => {
    expect(
      closest_pair([
        [1, 0.2, 0.7],
        [0.2, 1, 0.1],
        [0.7, 0.1, 1],
      ]),
    ).toEqual({ heads: [0, 2], overlap: 0.7 });
    expect(
      closest_pair([
        [1, null],
        [null, 1],
      ]),
    ).toBeUndefined();
    expect(closest_pair([[1]])).toBeUndefined();
  });

  test("the scale starts at the random overlap for every layer", () => {
    expect(chance_overlap(kModel, [row(0), row(2)])).toBe(0.5);
    for (const layer of [0, 2]) expect(overlap_chart(reading(), "q", layer)!.scale.domain).toEqual([0.5, 1]);
    expect(overlap_chart(reading(), "q", 1)).toBeUndefined();
  });

  test("by layer: closest pair and mean, missing if no pair has a value", () => {
    const [panel] = overlap_by_layer_chart(reading()).panels;
    expect(panel!.lines.map((line) => Array.from(line.y))).toEqual([
      [0.75, null],
      [0.75, null],
    ]);
  });
});
