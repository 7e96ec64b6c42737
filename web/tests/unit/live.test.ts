// Text boxes of served pages.
import { describe, expect, test } from "vitest";
import { second_box, typed_input, type Typed } from "../../src/live/run_panel";
import { reading } from "./findings/made_readings";

const typed = (given: Partial<Typed>): Typed => ({ as: "text", text: "", pair: "", target: "", ...given });
const { model } = reading({});

describe("text boxes", () => {
  test("the second box is the target, or the second text of models that take pairs", () => {
    expect(second_box(model, false)).toBeUndefined();
    expect(second_box({ ...model, pairs: true }, false)).toBe("pair");
    expect(second_box(model, true)).toBe("target");
    expect(second_box({ ...model, pairs: true }, true)).toBe("target");
  });

  test("a pair is sent as text and text_pair", () => {
    const both = typed({ text: "Who wrote it?", pair: " A poet did. ", target: "left from another model" });
    expect(typed_input(both, "pair")).toEqual({ text: "Who wrote it?", text_pair: " A poet did. " });
    expect(typed_input(both, undefined)).toEqual({ text: "Who wrote it?" });
    expect(typed_input({ ...both, pair: " \n" }, "pair")).toEqual({ text: "Who wrote it?" });
    expect(typed_input({ ...both, as: "tokens", text: " 1,2 " }, "pair")).toEqual({ tokens: "1,2" });
  });

  test("an encoder-decoder gets its target in the same form as the source", () => {
    const both = typed({ text: "good ", target: "gut ", pair: "left from another model" });
    expect(typed_input(both, "target")).toEqual({ text: "good ", target: "gut " });
    expect(typed_input({ ...both, as: "tokens" }, "target")).toEqual({ tokens: "good", target_tokens: "gut" });
    expect(typed_input({ ...both, target: "" }, "target")).toEqual({ text: "good " });
  });
});
