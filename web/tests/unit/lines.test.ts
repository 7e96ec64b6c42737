// Edge cases of lines: a single vertex, or values outside the axis range.
import { describe, expect, test } from "vitest";
import { counted_axis, ticks_of } from "../../src/chart/axis";
import { draw, legend_of, note_of, to_vega_lite } from "../../src/chart/chart";
import { cuts } from "../../src/chart/clipped_lines";
import type { LinesChart } from "../../src/chart/lines";
import { kLight } from "../../src/chart/theme";
import { all_by_tag, type Tree } from "../../src/chart/svg_tree";
import { plain } from "../../src/chart/rich_text";
import { rendered } from "./vega";

const chart = (lines: LinesChart["panels"][number]["lines"], more: Partial<LinesChart> = {}): LinesChart => ({
  kind: "lines",
  name: "lines",
  title: "Ranks",
  x: counted_axis("layer", 3),
  y: { title: "", scale: "log", domain: [0.01, 10] },
  series: [
    { key: "q", label: "q", color: { role: "q" } },
    { key: "null", label: "null", color: "null" },
  ],
  panels: [{ lines }],
  ...more,
});
const drawn = (each: LinesChart) => draw(each, kLight, { width: 500 });
const of_series = (tree: Tree, series: string) => all_by_tag(tree, "g").find((each) => each.attributes["data-series"] === series);
const marks = (tree: Tree) => all_by_tag(tree, "path").flatMap((path) => path.attributes["data-cut"] ?? []);

describe("a vertex without neighbors", () => {
  test("in a model with one layer has a mark, and its baseline a dash", () => {
    const one = drawn(
      chart(
        [
          { series: "q", x: [0], y: [2] },
          { series: "null", x: [0], y: [3] },
        ],
        { x: counted_axis("layer", 1) },
      ),
    );
    const [line, baseline_line] = [of_series(one, "q"), of_series(one, "null")];
    expect(line && all_by_tag(line, "circle")).toHaveLength(1);
    expect(baseline_line && all_by_tag(baseline_line, "line")).toHaveLength(1);
  });

  test("between gaps has a mark, connected vertices have none", () => {
    const line = of_series(drawn(chart([{ series: "q", x: [0, 1, 2, 3, 4], y: [1, null, 1, null, null] }])), "q");
    expect(line && all_by_tag(line, "circle")).toHaveLength(2);
    const whole = of_series(drawn(chart([{ series: "q", x: [0, 1, 2], y: [1, 2, 3] }])), "q");
    expect(whole && all_by_tag(whole, "circle")).toHaveLength(0);
  });

  test("has a mark in Vega-Lite", async () => {
    const { items, warned } = await rendered(to_vega_lite(chart([{ series: "q", x: [0], y: [2] }]), kLight));
    expect(warned).toEqual([]);
    expect(items.filter((item) => item.kind === "symbol").map((item) => item.datum.alone)).toEqual([2]);
  });
});

test("a single layer is centered on its axis, at the only tick", () => {
  const axis = counted_axis("layer", 1);
  expect(ticks_of(axis, 5).map(Math.abs)).toEqual([0]);
  expect(axis.domain[0] + axis.domain[1]).toBe(0);
  expect(counted_axis("layer", 4).domain).toEqual([0, 3]);
});

test("lines of one layer have a legend instead of a color bar", () => {
  expect(legend_of(chart([], { layer_key: 1 }))).toHaveLength(2);
  expect(legend_of(chart([], { layer_key: 6 }))).toHaveLength(0);
});

describe("a line that leaves the axis range", () => {
  const below = { series: "q", x: [0, 1, 2, 3, 4, 5], y: [1, 0.001, 0.0001, 1, 0, 20] };

  test("has a triangle at the edge each time", () => {
    const each = chart([below]);
    expect(cuts(each, below)).toEqual([
      { index: 1, side: "below" },
      { index: 4, side: "below" },
      { index: 5, side: "above" },
    ]);
    expect(marks(drawn(each))).toEqual(["below", "below", "above"]);
    expect(plain(note_of(each) ?? "")).toBe("▾▴: the line continues outside the axis range.");
    expect(plain(note_of({ ...each, note: "A caption." }) ?? "")).toBe("A caption. ▾▴: the line continues outside the axis range.");
  });

  test("has triangles in Vega-Lite, at the ends of the domain", async () => {
    const { items, warned } = await rendered(to_vega_lite(chart([below]), kLight));
    expect(warned).toEqual([]);
    const ends = items
      .filter((item) => item.kind === "symbol")
      .flatMap(({ datum }) => [datum.below, datum.above].filter((end) => typeof end === "number"));
    expect(ends).toContain(0.01);
    expect(ends).toContain(10);
  });

  test("has no triangle if it stays within the range", () => {
    const each = chart([{ series: "q", x: [0, 1], y: [0.01, 10] }]);
    expect(marks(drawn(each))).toEqual([]);
    expect(note_of(each)).toBeUndefined();
  });
});
