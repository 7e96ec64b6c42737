// The texts that attention was measured on.
import { parameters_of, tokens_of } from "../data/report";
import type { Reading } from "./reading";

/** How the maps of a report were made: tokens of a sequence, sequences, and the share of the energy of its ranks. */
export function text_facts({ report, model }: Pick<Reading, "report" | "model">): { length: number; sequences: number; energy: number } {
  const parameters = parameters_of(report, "attention", model.name) ?? parameters_of(report, "attention_without_first", model.name) ?? {};
  const number = (name: string, otherwise: number) => (typeof parameters[name] === "number" ? (parameters[name] as number) : otherwise);
  return { length: number("length", 0), sequences: number("sequences", 1), energy: number("energy", 0.9) };
}

/** Tokens of the texts that attention was measured on; 0 where that is not known. */
export function text_length({ report, model }: Reading): number {
  const length = parameters_of(report, "attention", model.name)?.length;
  return tokens_of(report, model.name).length || (typeof length === "number" ? length : 0);
}
