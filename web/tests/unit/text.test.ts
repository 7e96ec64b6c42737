import { inflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { count_words, counted, format_number } from "../../src/chart/number_format";
import { mix, text_on } from "../../src/chart/oklab";
import { base64, png_address } from "../../src/chart/png";
import { kDark, kLight } from "../../src/chart/theme";
import { s, svg_text } from "../../src/chart/svg_tree";
import { changed, choice_param, fragment_of, index_param, parse_state } from "../../src/shaping/state";

describe("number formats", () => {
  test.each([
    [null, "score", "–"],
    [0.724, "score", "+0.72"],
    [-0.59, "score", "−0.59"],
    [1, "score", "+1.00"],
    [-0.001, "score", "0.00"],
    [-0.4, "+.0f", "0"],
    [0.4, "+.0f", "0"],
    [-0.6, "+.0f", "−1"],
    [0.37, "percent", "37%"],
    [0.07, "share", "0.07"],
    [-3, ".0f", "−3"],
    [12000, "tick", "12,000"],
    [0.00001, "tick", "1e−5"],
  ] as const)("%s as %s is %s", (value, form, text) => expect(format_number(value, form)).toBe(text));

  test("singular and plural", () => {
    expect(counted(1, "token")).toBe("1 token");
    expect(counted(0, "row")).toBe("0 rows");
    expect(counted(1200, "row")).toBe("1,200 rows");
  });

  test("counts", () => {
    expect(count_words(22_713_216)).toBe("22.7\u202fM");
    expect(count_words(512)).toBe("512");
  });
});

describe("state in the address", () => {
  test("survives a round trip", () => {
    const state = parse_state("#heads?t=0.9&l=2&h=9", "overview");
    expect(fragment_of(state)).toBe("#heads?t=0.9&l=2&h=9");
    expect(index_param(state, "l", 6)).toBe(2);
    expect(index_param(state, "h", 6)).toBeUndefined();
    expect(parse_state("", "overview")).toEqual({ view: "overview", params: {} });
  });
  test("another view keeps shared parameters", () => {
    const state = parse_state("#spectra?t=0.9&show=null&l=2", "overview");
    expect(changed(state, { l: 3 }, "heads")).toEqual({ view: "heads", params: { t: "0.9", l: "3" } });
    expect(changed(state, { show: null })).toEqual({ view: "spectra", params: { t: "0.9", l: "2" } });
    expect(choice_param(state, "show", ["values", "null"])).toBe("null");
    expect(choice_param(state, "by", ["layer", "matrix"])).toBe("layer");
  });
});

describe("colors", () => {
  test("ends of the scales", () => {
    expect(kLight.sequential[0]).toBe("#f1f3ec");
    expect(kDark.sequential[255]).toBe("#f6f7c1");
    expect(kLight.diverging[0]).toBe("#8a2f0b");
    expect(mix("#000000", "#ffffff", 1)).toBe("#ffffff");
  });
  test("text on a cell has contrast", () => {
    expect(text_on("#1b1b4b")).toBe("#ffffff");
    expect(text_on("#f1f3ec")).toBe("#000000");
  });
});

test("names from a file are escaped in SVG", () => {
  expect(svg_text(s("text", { "aria-label": '"><script>' }, "</text>&\u0007"))).toBe(
    '<text xmlns="http://www.w3.org/2000/svg" aria-label="&quot;&gt;&lt;script&gt;">&lt;/text&gt;&amp;\ufffd</text>',
  );
});

test.each([0, 1, 2, 3, 8193])("base64 of %i bytes matches Node", (length) => {
  const bytes = Uint8Array.from({ length }, (_, index) => (index * 37) % 256);
  expect(base64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
});

test("a PNG contains its pixels", () => {
  const bytes = Buffer.from(png_address(Uint8Array.of(0, 1, 1, 0, 0, 1), 3, 2, ["#000000", "#ffffff"]).split(",")[1]!, "base64");
  expect(bytes.subarray(1, 4).toString()).toBe("PNG");
  const at = bytes.indexOf("IDAT");
  const length = bytes.readUInt32BE(at - 4);
  expect([...inflateSync(bytes.subarray(at + 4, at + 4 + length))]).toEqual([0, 0, 1, 1, 0, 0, 0, 1]);
});
