import { describe, expect, test } from "vitest";
import type { SkippedPart } from "../../src/data/report_file";
import { missing_analysis } from "../../src/shaping/missing_analysis";
import { analysis_of, kModel, report_of } from "./report_by_hand";

const model = (name: string) => ({ ...kModel, name });
const [a, b, c] = [model("a"), model("b"), model("c")];
const skipped = (name: string): SkippedPart => ({
  part: "spectrum",
  model: name,
  why: `${name} is too large`,
  command: `attnscope spectrum ${name}`,
});

describe("an analysis missing from a report of several models", () => {
  const report = report_of({ models: [a, b, c], skipped: [skipped("a"), skipped("c")] });

  test("is reported for the selected model", () => {
    expect(missing_analysis(report, [c], "spectrum")).toEqual({ why: "c: c is too large", commands: ["attnscope spectrum c"] });
  });

  test("does not show another model's reason", () => {
    expect(missing_analysis(report, [b], "spectrum")).toEqual({ commands: ["attnscope spectrum MODEL --values --per-head"] });
  });

  test("is reported for each of the given models", () => {
    expect(missing_analysis(report, [a, c], "spectrum")).toEqual({
      why: "a: a is too large; c: c is too large",
      commands: ["attnscope spectrum a", "attnscope spectrum c"],
    });
  });
});

describe("an analysis missing from a report of one model", () => {
  test("has a reason without the model's name", () => {
    expect(missing_analysis(report_of({ models: [a], skipped: [skipped("a")] }), [a], "spectrum").why).toBe("a is too large");
  });

  test("has no command if it ran and found nothing", () => {
    const empty = { ...analysis_of("spectrum", [], {}, [{ reason: "contains NaN" }]), model: "a" };
    expect(missing_analysis(report_of({ models: [a], reports: [empty] }), [a], "spectrum")).toEqual({ why: "contains NaN", commands: [] });
  });
});

describe("a missing analysis of an encoder-decoder", () => {
  const [encoder, decoder] = [model("t5:encoder"), model("t5:decoder")];
  const report = report_of({ models: [encoder, decoder] });

  test("has a command with a target", () => {
    expect(missing_analysis(report, [encoder], "ablate")).toEqual({
      commands: ["attnscope ablate MODEL --text-file FILE --target-file FILE"],
    });
    expect(missing_analysis(report, [decoder], "lens_grid")).toEqual({ commands: ['attnscope lens MODEL --grid --text "…" --target "…"'] });
  });

  test("has no command for a stack without an LM head", () => {
    expect(missing_analysis(report, [encoder], "lens")).toEqual({
      why: "t5:encoder: its states reach the LM head only through the decoder",
      commands: [],
    });
  });
});

describe("effects on prompts, which are missing,", () => {
  const command = "attnscope report MODEL --prompts FILE -o report.html";
  const ids = ["ablate_prompts", "ablate_patching", "ablate_path"] as const;

  test.each(ids)("have the command of a report: %s", (id) => {
    expect(missing_analysis(report_of({ models: [a] }), [a], id)).toEqual({ commands: [command] });
  });

  test("have no command for a bidirectional model", () => {
    const bert = { ...a, causal: false };
    const why = "the model is bidirectional and does not predict next tokens";
    expect(missing_analysis(report_of({ models: [bert] }), [bert], "ablate_prompts")).toEqual({ why, commands: [] });
  });

  test("have no command for an encoder-decoder", () => {
    const stacks = [model("t5:encoder"), model("t5:decoder")];
    const { why, commands } = missing_analysis(report_of({ models: stacks }), [stacks[1]!], "ablate_path");
    expect(why).toBe("t5:decoder: prompts of encoder-decoders are not supported");
    expect(commands).toEqual([]);
  });

  test("have the reason of attention for a model that takes no text", () => {
    const why = "the model has no tokenizer";
    const attention: SkippedPart = { part: "attention", model: "a", why, command: "attnscope attention a --tokens 0,1" };
    const report = report_of({ models: [a], skipped: [attention] });
    expect(missing_analysis(report, [a], "ablate_patching")).toEqual({ why, commands: [] });
  });
});
