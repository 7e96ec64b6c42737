import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as vega from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { draw, picture, to_vega_lite, type Chart } from "../../src/chart/chart";
import { lines_layout, vertices, type LinesChart } from "../../src/chart/lines";
import { kDark, kLight } from "../../src/chart/theme";
import { all_by_tag, svg_text } from "../../src/chart/tree";
import { kEveryChart } from "./every_chart";

const warned: string[] = [];
const logger = {
  level: () => logger, error: (...words: unknown[]) => (warned.push(words.join(" ")), logger), warn: (...words: unknown[]) => (warned.push(words.join(" ")), logger),
  info: () => logger, debug: () => logger,
};
beforeEach(() => warned.splice(0));
afterEach(() => vi.restoreAllMocks());

describe.each(kEveryChart.map((chart) => [chart.name, chart] as const))("%s", (_name, chart) => {
  test.each([[390, kLight], [1280, kDark]] as const)("draws at %d pixels with finite places", (width, theme) => {
    const text = svg_text(draw(chart, theme, { width }));
    expect(text).not.toMatch(/NaN|undefined|Infinity/);
    expect(text).not.toMatch(/<img|<script|<\/script>"|\u001b/);
    expect(text).not.toContain(" style=");
  });

  test("stands alone with its title", () => {
    const tree = picture(chart, kLight, 900);
    expect(Number(tree.attributes.height)).toBeGreaterThan(60);
    expect(svg_text(tree)).toContain('xmlns="http://www.w3.org/2000/svg"');
  });

  test("compiles in Vega-Lite without a warning and renders", async () => {
    const specification = to_vega_lite(chart, kLight) as TopLevelSpec;
    const compiled = compile(specification, { logger: logger as never }).spec;
    const view = new vega.View(vega.parse(compiled), { renderer: "none", logger: logger as never });
    expect(await view.toSVG()).toContain("<svg");
    expect(warned).toEqual([]);
    view.finalize();
  });

  test("is plain data", () => {
    expect(JSON.parse(JSON.stringify(to_vega_lite(chart, kLight)))).toBeTruthy();
  });
});

const lines = (name: string) => kEveryChart.find((chart): chart is LinesChart => chart.kind === "lines" && chart.name === name)!;

describe("lines", () => {
  test("a null breaks the line and is not drawn as zero", () => {
    const chart = lines("lines");
    expect(vertices(chart, chart.panels[0]!.lines[0]!)[7]).toBeNull();
    const path = all_by_tag(draw(chart, kLight, { width: 900 }), "path")[0]!;
    expect(String(path.attributes.d).match(/M/g)).toHaveLength(2);
  });

  test("panels share both scales and leave no ragged row", () => {
    const layout = lines_layout(lines("lines"), { width: 900 });
    expect(new Set(layout.plots.map((plot) => plot.y)).size).toBe(1);
    expect(new Set(layout.plots.map((plot) => plot.width)).size).toBe(1);
  });

  test("Vega-Lite draws as many lines in the page's colours", async () => {
    const chart = lines("lines");
    const view = new vega.View(vega.parse(compile(to_vega_lite(chart, kLight) as TopLevelSpec).spec), { renderer: "none" });
    const svg = await view.toSVG();
    for (const series of chart.series) expect(svg.toLowerCase()).toContain(series.colour === "null" ? kLight.null_line.toLowerCase() : kLight.roles.q.toLowerCase());
    view.finalize();
  });
});

describe("heatmap", () => {
  const chart = kEveryChart.find((each): each is Extract<Chart, { kind: "heatmap" }> => each.name === "heatmap")!;
  test("tells missing, skipped and null apart in words", () => {
    const labels = all_by_tag(draw(chart, kLight, { width: 400 }), "rect").map((cell) => String(cell.attributes["aria-label"]));
    expect(labels).toContain("layer 2, head 1: not in this report");
    expect(labels.some((label) => label.startsWith("layer 3, head 0: skipped"))).toBe(true);
    expect(labels).toContain("layer 0, head 5: no value");
  });
});
