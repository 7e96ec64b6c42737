import { describe, expect, test } from "vitest";
import type { LeftOut } from "../../src/data/report_file";
import { missing_analysis } from "../../src/shaping/missing_analysis";
import { analysis_of, kModel, report_of } from "./report_by_hand";

const model = (name: string) => ({ ...kModel, name });
const [a, b, c] = [model("a"), model("b"), model("c")];
const skipped = (name: string): LeftOut => ({
  part: "spectrum",
  model: name,
  why: `${name} is too large`,
  command: `attnscope spectrum ${name}`,
});

describe("an analysis that a report of several models lacks", () => {
  const report = report_of({ models: [a, b, c], skipped: [skipped("a"), skipped("c")] });

  test("is said of the model that is shown, not of the first that lacks it", () => {
    expect(missing_analysis(report, [c], "spectrum")).toEqual({ why: "c: c is too large", commands: ["attnscope spectrum c"] });
  });

  test("names no other model's reason where its own has none", () => {
    expect(missing_analysis(report, [b], "spectrum")).toEqual({ commands: ["attnscope spectrum MODEL --values --per-head"] });
  });

  test("is said of each of the models that are shown", () => {
    expect(missing_analysis(report, [a, c], "spectrum")).toEqual({
      why: "a: a is too large; c: c is too large",
      commands: ["attnscope spectrum a", "attnscope spectrum c"],
    });
  });
});

describe("an analysis that a report of one model lacks", () => {
  test("needs no name beside its reason", () => {
    expect(missing_analysis(report_of({ models: [a], skipped: [skipped("a")] }), [a], "spectrum").why).toBe("a is too large");
  });

  test("is brought by no command where it is there and found nothing", () => {
    const empty = { ...analysis_of("spectrum", [], {}, [{ reason: "holds NaN" }]), model: "a" };
    expect(missing_analysis(report_of({ models: [a], reports: [empty] }), [a], "spectrum")).toEqual({ why: "holds NaN", commands: [] });
  });
});

describe("what an encoder-decoder lacks of a text", () => {
  const [encoder, decoder] = [model("t5:encoder"), model("t5:decoder")];
  const report = report_of({ models: [encoder, decoder] });

  test("is brought by a command that names a target", () => {
    expect(missing_analysis(report, [encoder], "ablate")).toEqual({
      commands: ["attnscope ablate MODEL --text-file FILE --target-file FILE"],
    });
    expect(missing_analysis(report, [decoder], "lens_grid")).toEqual({ commands: ['attnscope lens MODEL --grid --text "…" --target "…"'] });
  });

  test("is nothing where its states meet no output head", () => {
    expect(missing_analysis(report, [encoder], "lens")).toEqual({
      why: "t5:encoder: its states reach the output head only through the decoder",
      commands: [],
    });
  });
});
