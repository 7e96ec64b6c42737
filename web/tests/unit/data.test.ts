import { describe, expect, test } from "vitest";
import { numbers_of_planes } from "../../src/data/load";
import { byte_of_weight, map_bytes, row_entropies, weight_of_byte } from "../../src/data/maps";
import {
  at_threshold,
  cumulative_energy,
  matrices_of,
  row_at,
  rows_of,
  skipped_reason,
  thinned_indices,
  type Report,
} from "../../src/data/report";
import type { MapPlace, ReportFile } from "../../src/data/report_file";

const spectrum_row = (model: string, layer: number, matrix: string, head: number | null) => ({ model, layer, matrix, head });

function report(): Report {
  const file = {
    reports: [
      {
        id: "spectrum",
        rows: [
          spectrum_row("a", 0, "up", null),
          spectrum_row("a", 0, "q", null),
          spectrum_row("a", 0, "q", 1),
          spectrum_row("b", 0, "k", null),
        ],
        skipped: [{ model: "a", layer: 1, matrix: "q", reason: "contains NaN" }],
      },
    ],
    maps: [],
  } as unknown as ReportFile;
  return { file, values: new Float32Array(0), maps: new Uint8Array([1, 2, 3, 4, 5, 6]), live: false };
}

describe("lookups", () => {
  test("rows are filtered by model, and matrices are in display order", () => {
    expect(rows_of(report(), "spectrum", "a")).toHaveLength(3);
    expect(matrices_of(report(), "spectrum", "a")).toEqual(["q", "up"]);
    expect(rows_of(report(), "circuits", "a")).toEqual([]);
  });

  test("rows of heads and layers are distinguished", () => {
    const opened = report();
    expect(row_at(opened, "spectrum", { model: "a", layer: 0, matrix: "q", head: 1 })?.head).toBe(1);
    expect(row_at(opened, "spectrum", { model: "a", layer: 0, matrix: "q" })?.head).toBeNull();
    expect(row_at(opened, "spectrum", { model: "a", layer: 0, matrix: "q", head: 2 })).toBeUndefined();
  });

  test("reason for a missing row", () => {
    expect(skipped_reason(report(), "spectrum", { model: "a", layer: 1, matrix: "q" })).toBe("contains NaN");
    expect(skipped_reason(report(), "spectrum", { model: "a", layer: 0, matrix: "q" })).toBeUndefined();
  });

  test("thresholds are found by value", () => {
    expect(at_threshold({ "0.9": 5, "0.99": 7 }, 0.99)).toBe(7);
    expect(at_threshold({ "0.9": 5 }, 0.5)).toBeUndefined();
    expect(at_threshold(undefined, 0.5)).toBeUndefined();
  });
});

describe("a report", () => {
  test("parts of one analysis are joined", () => {
    const whole = report();
    whole.file.reports.push({ ...whole.file.reports[0]!, rows: [spectrum_row("a", 2, "k", null)], skipped: [] });
    expect(rows_of(whole, "spectrum", "a").map((row) => row.layer)).toEqual([0, 0, 0, 2]);
    expect(matrices_of(whole, "spectrum", "a")).toEqual(["q", "k", "up"]);
    expect(skipped_reason(whole, "spectrum", { model: "a", layer: 1, matrix: "q" })).toBe("contains NaN");
  });

  test("numbers are decoded from byte planes", () => {
    const numbers = Float32Array.from([1.5, -2, 1e-9]);
    const bytes = new Uint8Array(numbers.buffer);
    const planes = Uint8Array.from(bytes, (_, index) => bytes[4 * (index % 3) + Math.floor(index / 3)]!);
    expect(numbers_of_planes(planes.buffer)).toEqual(numbers);
    expect(numbers_of_planes(new ArrayBuffer(0))).toHaveLength(0);
  });
});

describe("numbers", () => {
  test("cumulative energy ends at 1", () => {
    expect([...cumulative_energy([2, 1, 0])]).toEqual([0.8, 1, 1]);
    expect([...cumulative_energy([0, 0])]).toEqual([0, 0]);
  });

  test("thinning keeps the first hundred and the last", () => {
    const kept = thinned_indices(2003);
    expect(kept.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(kept[kept.length - 1]).toBe(2002);
    expect(new Set(kept).size).toBe(kept.length);
    expect(thinned_indices(0)).toEqual([]);
  });
});

describe("maps", () => {
  test("a byte encodes a weight to 2.2%, and 0 exactly", () => {
    for (let weight = 2 ** -16; weight <= 1; weight *= 1.01)
      expect(Math.abs(weight_of_byte(byte_of_weight(weight)) / weight - 1)).toBeLessThan(0.0222);
    expect(weight_of_byte(byte_of_weight(0))).toBe(0);
    expect(byte_of_weight(1)).toBe(255);
  });

  test("a causal map's triangle becomes a square", () => {
    const place: MapPlace = { model: "a", layer: 0, head: 0, tokens: 3, causal: true, side: 3, at: 0 };
    expect([...map_bytes(report(), place)]).toEqual([1, 0, 0, 2, 3, 0, 4, 5, 6]);
  });

  test("the entropy of uniform weights is the logarithm of their number", () => {
    const even = byte_of_weight(0.25);
    expect(row_entropies(new Uint8Array(16).fill(even), { queries: 4, keys: 4 })[0]).toBeCloseTo(Math.log(4), 6);
    expect(row_entropies(new Uint8Array(16), { queries: 4, keys: 4 })[0]).toBe(0);
  });
});
