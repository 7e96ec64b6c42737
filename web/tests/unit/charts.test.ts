import { describe, expect, test } from "vitest";
import { ticks_of } from "../../src/chart/axis";
import { bars_words } from "../../src/chart/histogram";
import { draw, note_of, chart_tree, to_vega_lite, type Chart } from "../../src/chart/chart";
import { column_words, grouped_bars_axis } from "../../src/chart/grouped_bars";
import { cell_words } from "../../src/chart/heatmap";
import { scale_color } from "../../src/chart/color_scale";
import { image_layout, image_words } from "../../src/chart/image";
import { layer_densities_layout, layer_densities_words } from "../../src/chart/layer_densities";
import { lines_layout, vertices } from "../../src/chart/lines";
import { map_layout } from "../../src/chart/attention_map";
import { oklab } from "../../src/chart/oklab";
import { color_of, kDark, kLight } from "../../src/chart/theme";
import { all_by_tag, svg_text, type Tree } from "../../src/chart/svg_tree";
import { kEveryChart, kHostile } from "./every_chart";
import { rendered } from "./vega";

describe.each(kEveryChart.map((chart) => [chart.name, chart] as const))("%s", (_name, chart) => {
  test.each([
    [390, kLight],
    [1280, kDark],
  ] as const)("draws at %d pixels with finite coordinates", (width, theme) => {
    const text = svg_text(draw(chart, theme, { width }));
    expect(text).not.toMatch(/NaN|undefined|Infinity/);
    expect(text).not.toMatch(/<img|<script|\u001b/);
    expect(text).not.toContain(" style=");
  });

  test("is valid as a standalone file with its title", () => {
    const tree = chart_tree(chart, kLight, 900);
    expect(Number(tree.attributes.height)).toBeGreaterThan(60);
    expect(svg_text(tree)).toContain('xmlns="http://www.w3.org/2000/svg"');
  });

  test("compiles in Vega-Lite without a warning and renders", async () => {
    const { svg, warned, items } = await rendered(to_vega_lite(chart, kLight));
    expect(warned).toEqual([]);
    expect(svg).toContain("<svg");
    expect(items.length).toBeGreaterThan(0);
  });
});

const find = <Kind extends Chart["kind"]>(kind: Kind, name: string = kind) =>
  kEveryChart.find((chart): chart is Extract<Chart, { kind: Kind }> => chart.kind === kind && chart.name === name)!;

/** Distance of two colors in OKLab × 100. Colors: "rgb(1, 2, 3)" or "#010203". */
function distance(first: string, second: string): number {
  const hex = (color: string) =>
    color.startsWith("#")
      ? color
      : `#${color
          .match(/\d+/g)!
          .slice(0, 3)
          .map((part) => Number(part).toString(16).padStart(2, "0"))
          .join("")}`;
  const [a, b] = [oklab(hex(first)), oklab(hex(second))];
  return 100 * Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

describe("grouped bars", () => {
  const chart = find("columns");
  const drawn = draw(chart, kLight, { width: 900 });
  const bars = all_by_tag(drawn, "rect").filter(({ attributes }) => attributes.fill !== "none");

  test("a bar much higher than the others is clipped and labeled", () => {
    expect(chart.y.domain).toEqual([-0.05, expect.closeTo(1.5 * 0.34)]);
    expect(all_by_tag(drawn, "text").flatMap(({ children }) => children)).toContainEqual(expect.stringMatching(/^▴ .* 4\.20$/));
    expect(note_of(chart)).toContain("▴");
    const whole = { ...chart, columns: chart.columns.slice(0, 1) };
    expect(note_of(whole)).toBeUndefined();
    expect(grouped_bars_axis("", 4, whole.columns).domain[1]).toBeCloseTo(0.34);
  });

  test("start at 0 in both directions; missing bars are not drawn", () => {
    expect(bars).toHaveLength(7);
    const ends = bars.map(({ attributes: { y, height } }) => [Number(y), Number(y) + Number(height)]);
    const zero = ends[0]![1]!;
    expect(ends.map(([, bottom], index) => (index === 2 ? undefined : bottom))).toEqual(
      ends.map((_, index) => (index === 2 ? undefined : expect.closeTo(zero))),
    );
    expect(ends[2]![0]).toBeCloseTo(zero); // below 0
  });

  test("are gray if not significant, and have whiskers unless clipped", () => {
    expect(bars.map(({ attributes }) => attributes.fill === kLight.baseline_line)).toEqual([
      false,
      false,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(all_by_tag(drawn, "path").filter(({ attributes }) => attributes["data-whisker"])).toHaveLength(5);
  });

  test("have tooltips", () => {
    expect(column_words(chart, 2, 0)).toBe("layer 2, attention: nats \u22120.02 ± 0.03 (not significantly different from 0)");
    expect(column_words(chart, 3, 0)).toBe("layer 3, attention: nats 0.1");
    expect(column_words(chart, 2, 1)).toMatch(/: nats –$/);
  });

  test("Vega-Lite draws the same bars", async () => {
    const { items, domain } = await rendered(to_vega_lite(chart, kLight));
    expect(domain("y")).toEqual(chart.y.domain);
    expect(items.filter((item) => item.kind === "rect")).toHaveLength(7);
  });
});

describe("lines", () => {
  const chart = find("lines");
  const line = chart.panels[0]!.lines[0]!;

  test("a null breaks the line and is not drawn as zero", () => {
    expect(vertices(chart, line)[7]).toBeNull();
    const path = all_by_tag(draw(chart, kLight, { width: 900 }), "path")[0]!;
    expect(String(path.attributes.d).match(/M/g)).toHaveLength(2);
  });

  test("panels share both scales and fill all rows", () => {
    const layout = lines_layout(chart, { width: 900 });
    expect(new Set(layout.plots.map((plot) => plot.y)).size).toBe(1);
    expect(new Set(layout.plots.map((plot) => plot.width)).size).toBe(1);
  });

  test("Vega-Lite draws the same vertices, domains and colors", async () => {
    const { items, domain } = await rendered(to_vega_lite(chart, kLight));
    expect(domain("x")).toEqual(chart.x.domain);
    expect(domain("y")).toEqual(chart.y.domain);
    const drawn = items.filter((item) => item.kind === "line");
    const wanted = chart.panels.flatMap((panel) =>
      panel.lines.flatMap((each) => vertices(chart, each).map((point, index) => point ?? [each.x[index]!, null])),
    );
    expect(drawn).toHaveLength(wanted.length);
    expect(drawn.map((item) => [item.datum.x, item.datum.y])).toEqual(
      wanted.map((point) => point.map((value) => value && Number(value.toPrecision(7)))),
    );
    expect(new Set(drawn.map((item) => item.stroke))).toEqual(new Set(chart.series.map((series) => color_of(kLight, series.color))));
  });
});

describe("heatmap", () => {
  const chart = find("heatmap");

  test("tooltips distinguish missing, skipped and null cells", () => {
    const labels = all_by_tag(draw(chart, kLight, { width: 400 }), "rect").map((cell) => String(cell.attributes["aria-label"]));
    expect(labels).toContain("L2H1: not in this report");
    expect(labels.some((label) => label.startsWith("L3H0: skipped"))).toBe(true);
    expect(labels).toContain("L0H5: no value");
  });

  test("tooltips name the number and the reason for a missing one, if the chart does", () => {
    const words = { ...find("heatmap", "heatmap-words"), number_name: "rank", no_number: "not significant" };
    expect(cell_words({ ...words, words: [["\u23ce"]], cells: [[3]] }, 0, 0)).toMatch(/^token .*, layer .*: \u201c\u23ce\u201d, rank: 3$/);
    expect(cell_words({ ...find("heatmap"), no_number: "not significant" }, 0, 5)).toBe("L0H5: not significant");
  });

  test.each([find("heatmap"), find("heatmap", "heatmap-rank")])("Vega-Lite gives cells of $name the same colors", async (each) => {
    const { items } = await rendered(to_vega_lite(each, kLight));
    const known = items.filter((item) => item.kind === "rect" && item.datum.value !== null);
    expect(known).toHaveLength(each.cells.flat().filter((cell) => typeof cell === "number").length);
    for (const item of known) expect(distance(item.fill!, scale_color(kLight, each.scale, item.datum.value as number))).toBeLessThan(3);
  });
});

test("points of a scatter plot have the same positions in Vega-Lite", async () => {
  const chart = find("scatter");
  const { items, domain } = await rendered(to_vega_lite(chart, kLight));
  expect(domain("x")).toEqual(chart.x.domain);
  expect(items.map((item) => [item.datum.x, item.datum.y])).toEqual(
    chart.points.map((point) => [point.x, point.y].map((value) => Number(value.toPrecision(7)))),
  );
  items.forEach((item, index) => expect(item.fill).toBe(color_of(kLight, chart.points[index]!.color)));
});

test("bars of a histogram have the same heights in Vega-Lite", async () => {
  const chart = find("bars");
  const { items, domain } = await rendered(to_vega_lite(chart, kLight));
  expect(domain("y")).toEqual(chart.y.domain);
  expect(items.map((item) => item.datum.height)).toEqual(Array.from(chart.bars[0]!.heights, (height) => Number(height.toPrecision(7))));
});

describe("labels that would overlap are omitted", () => {
  const sizes = (tree: Tree) => all_by_tag(tree, "text").map((text) => Number(text.attributes["font-size"]));
  const range = (count: number) => Array.from({ length: count }, (_, index) => index);

  test("on rows of a heatmap", () => {
    const chart = find("heatmap");
    const labels = range(32).map(String);
    const deep = {
      ...chart,
      rows: { ...chart.rows, labels },
      columns: { ...chart.columns, labels },
      cells: labels.map(() => labels.map(() => 0.5)),
    };
    const places = all_by_tag(draw(deep, kLight, { width: 300 }), "text")
      .filter((text) => text.attributes["text-anchor"] === "end")
      .map((text) => Number(text.attributes.y));
    expect(places.length).toBeGreaterThan(8);
    places.slice(1).forEach((y, index) => expect(y - places[index]!).toBeGreaterThanOrEqual(14));
  });

  test("on tokens of an attention map, which stay readable", () => {
    const chart = find("map");
    expect(Math.min(...sizes(draw(chart, kLight, { width: 200 })))).toBeGreaterThanOrEqual(8.5);
    const short = range(chart.shape.queries).map(String);
    const { plot } = map_layout({ ...chart, labels: { queries: short, keys: short } }, { width: 800 });
    expect(plot.x).toBeLessThan(map_layout(chart, { width: 800 }).plot.x);
    expect(plot.y).toBeLessThan(30);
  });
});

describe("tooltips", () => {
  const chart = <Kind extends Chart["kind"]>(kind: Kind) =>
    kEveryChart.find((each): each is Extract<Chart, { kind: Kind }> => each.kind === kind)!;

  test("on a distribution: density in a bin, or the reason for a missing row", () => {
    const { plot, row_height } = layer_densities_layout(chart("laminar"), { width: 600 });
    const middle = plot.x + plot.width / 2 + 2;
    expect(layer_densities_words(chart("laminar"), middle, plot.y + 1, 600)).toBe("layer 0, 0 to 0.02: density 1; mean 0, std 0.07");
    expect(layer_densities_words(chart("laminar"), middle, plot.y + 4.5 * row_height, 600)).toBe(`layer 4: ${kHostile}`);
    expect(layer_densities_words(chart("laminar"), 2, plot.y + 1, 600)).toBeUndefined();
  });

  test("on a matrix image: rows, columns and approximate value", () => {
    const { plot } = image_layout(chart("image"), { width: 600 });
    expect(image_words(chart("image"), plot.x + 1, plot.y + 1, 600)).toBe("rows 0–11, columns 0–11: ≈ 0");
    expect(image_words(chart("image"), plot.x - 3, plot.y + 1, 600)).toBeUndefined();
  });

  test("on a histogram: the bar, not the baseline", () => {
    const bars = kEveryChart.find((each): each is Extract<Chart, { kind: "bars" }> => each.name === "bars-null")!;
    expect(bars_words(bars, 44 + 1, 60, 600)).toMatch(/^q, −1 to −0.95: density /);
    expect(bars_words(bars, 10, 60, 600)).toBeUndefined();
  });
});

test("ticks of a symlog axis are 0 and powers of ten", () => {
  expect(ticks_of({ title: "", scale: "symlog", domain: [-2, 1800] }, 5)).toEqual([-1, 0, 1, 10, 100, 1000]);
});

test("an integer axis has ticks only at integers, on the page and in Vega-Lite", async () => {
  const x = { title: "layer", scale: "linear", domain: [0, 3], integers: true } as const;
  expect(ticks_of(x, 10)).toEqual([0, 1, 2, 3]);
  const chart = { ...kEveryChart.find((each) => each.name === "lines-errors")!, x } as Chart;
  const { svg } = await rendered(to_vega_lite(chart, kLight));
  const labels = [...svg.matchAll(/>(\d[\d.]*)<\/text>/g)].map((found) => found[1]);
  expect(labels).toContain("2");
  expect(labels).not.toContain("2.5");
});
