// Wording for QK circuits of RoPE models, in which every relative position has its own bilinear form.
import { analysis } from "../data/report";
import type { Reading } from "./reading";

/** The offset (key position − query position) of the QK circuits in the report. Undefined without RoPE. */
export function rotary_offset({ report, model }: Reading): number | undefined {
  const offset = analysis(report, "circuits")?.parameters.rope_offset;
  const known = typeof offset === "number" ? offset : 0;
  return model.rotary || known !== 0 ? known : undefined;
}

/** "", or " (RoPE at offset 0)". */
export function rotary_words(reading: Reading): string {
  const offset = rotary_offset(reading);
  return offset === undefined ? "" : ` (RoPE at offset ${offset})`;
}
