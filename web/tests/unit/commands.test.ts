// Commands of a report, one per line, and texts quoted in them.
import { describe, expect, test } from "vitest";
import { commands_in } from "../../src/shaping/commands";

describe("commands_in", () => {
  test("one command per line", () => {
    expect(commands_in("attnscope info a\nattnscope info b")).toEqual(["attnscope info a", "attnscope info b"]);
    expect(commands_in("")).toEqual([]);
  });

  test("a line break in a quoted text does not end a command", () => {
    const commands = ["attnscope attention a --text 'ROMEO:\nBut soft'", "attnscope attention b --text 'it'\\''s\n\nmine'"];
    expect(commands_in(commands.join("\n"))).toEqual(commands);
  });

  test("an unclosed quote does not include the next command", () => {
    expect(commands_in("attnscope info it's\nattnscope info b")).toEqual(["attnscope info it's", "attnscope info b"]);
  });
});
