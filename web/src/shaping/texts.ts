// The texts that attention was measured on.
import { parameters_of, tokens_of } from "../data/report";
import type { AnalysisId } from "../data/report_file";
import type { Reading } from "./reading";

/** How the maps of a report were made. */
export interface TextFacts {
  length: number; // tokens of a sequence; 0: not known
  directions: number; // that a map can have at most: fewer where a target is shorter than its source
  sequences: number;
  energy: number; // whose share ranks hold
}

export function text_facts({ report, model }: Pick<Reading, "report" | "model">): TextFacts {
  const parameters = parameters_of(report, "attention", model.name) ?? parameters_of(report, "attention_excluding_first", model.name) ?? {};
  const number = (name: string, otherwise: number) => (typeof parameters[name] === "number" ? (parameters[name] as number) : otherwise);
  const length = number("length", 0);
  return {
    length,
    directions: Math.min(length, number("target_length", length)),
    sequences: number("sequences", 1),
    energy: number("energy", 0.9),
  };
}

const kOfText: readonly AnalysisId[] = ["attention", "ablate", "lens"];

/** The text that was measured, and the positions over which losses and means are; undefined without a text. */
export function scored_words({ report, model }: Pick<Reading, "report" | "model">): string | undefined {
  const parameters = kOfText.map((id) => parameters_of(report, id, model.name)).find((each) => each !== undefined);
  if (!parameters) return undefined;
  const { source, lines, score_positions } = parameters;
  const text = typeof source === "string" && source !== "text" && source !== "tokens" ? source : "the text";
  const over =
    typeof score_positions !== "string"
      ? "all positions"
      : score_positions === "last"
        ? "the last token of each example"
        : /^[-\d, ]*(last)?[-\d, ]*$/.test(score_positions)
          ? `the tokens at positions ${score_positions} of each example`
          : `the tokens that ${score_positions} marks`;
  return `Measured on ${text}${lines === true ? ", line by line" : ""}. Losses and means are over ${over}.`;
}

/** Tokens of the texts that attention was measured on; 0 where that is not known. */
export function text_length({ report, model }: Reading): number {
  const length = parameters_of(report, "attention", model.name)?.length;
  return tokens_of(report, model.name).length || (typeof length === "number" ? length : 0);
}
