// The texts on which attention was measured.
import { parameters_of, tokens_of } from "../data/report";
import type { AnalysisId } from "../data/report_file";
import type { Reading } from "./reading";

/** Parameters of the attention maps of a report. */
export interface TextFacts {
  length: number; // tokens per sequence; 0: unknown
  directions: number; // maximum possible rank of a map; lower if a target is shorter than its source
  sequences: number;
  energy: number; // energy threshold of ranks
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

/** The measured text, and the positions over which losses and means are taken. Undefined without a text. */
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
          : `the tokens marked by ${score_positions}`;
  return `Measured on ${text}${lines === true ? ", line by line" : ""}. Losses and means are over ${over}.`;
}

/** Length in tokens of the texts on which attention was measured; 0 if unknown. */
export function text_length({ report, model }: Reading): number {
  const length = parameters_of(report, "attention", model.name)?.length;
  return tokens_of(report, model.name).length || (typeof length === "number" ? length : 0);
}
