// What is to be said beside QK circuits of a model with rotary positions, where each distance has a kernel of its own.
import { analysis } from "../data/report";
import type { Reading } from "./reading";

/** The distance, key position − query position, at which the report has the QK circuits; undefined where positions do not turn them. */
export function rotary_offset({ report, model }: Reading): number | undefined {
  const offset = analysis(report, "circuits")?.parameters.rope_offset;
  const known = typeof offset === "number" ? offset : 0;
  return model.rotary || known !== 0 ? known : undefined;
}

/** "", or " of the rotary kernel at offset 0". */
export function rotary_words(reading: Reading): string {
  const offset = rotary_offset(reading);
  return offset === undefined ? "" : ` of the rotary kernel at offset ${offset}`;
}
