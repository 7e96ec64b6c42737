// Text with subscripts and bold parts, such as W with subscript Q. Never markup.
import type { Matrix } from "../data/report_file";
import { s, type Tree } from "./svg_tree";

export type Word = string | { sub: string } | { strong: string };
export type Words = string | readonly Word[];

/** "L5H7": the name of a head, as in the literature. */
export const head_name = ({ layer, head }: { layer: number; head: number }): string => `L${layer}H${head}`;

const parts = (words: Words): readonly Word[] => (typeof words === "string" ? [words] : words);

/** Text on one line: line breaks, control characters and bidirectional marks become replacement characters. */
export const one_line = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");

/** The text, cut to `longest` characters with an ellipsis. */
export function clipped(text: string, longest: number): string {
  const characters = [...text];
  return characters.length > longest ? `${characters.slice(0, Math.max(1, longest - 1)).join("")}…` : text;
}

/** Words for narrow spaces: longer ones are cut and lose their subscripts. */
export const clipped_words = (words: Words, longest: number): Words =>
  plain(words).length > longest ? clipped(plain(words), longest) : words;

export function plain(words: Words): string {
  return one_line(
    parts(words)
      .map((word) => (typeof word === "string" ? word : "sub" in word ? `_${word.sub}` : word.strong))
      .join(""),
  );
}

/** tspans for a <text>: subscripts are lowered, and the text after them is raised back. */
export function tspans(words: Words): (Tree | string)[] {
  let lowered = false;
  return parts(words).map((word) => {
    const dy = lowered ? "-0.28em" : null;
    lowered = typeof word !== "string" && "sub" in word;
    if (typeof word === "string") return dy ? s("tspan", { dy }, word) : word;
    if ("sub" in word) return s("tspan", { dy: "0.25em", "font-size": "0.75em" }, word.sub);
    return s("tspan", { dy, "font-weight": 640 }, word.strong);
  });
}

const kProjections: Partial<Record<Matrix, string>> = { q: "Q", k: "K", v: "V", o: "O" };
const kOthers: Partial<Record<Matrix, string>> = {
  qk: "QK",
  ov: "OV",
  kv: "K+V",
  qk_content: "QK content",
  qk_rotary: "QK rotary",
  qk_latent: "QK latent",
  ov_latent: "OV latent",
  attention_gate: "attention gate",
  shared_gate: "shared gate",
  shared_up: "shared up",
  shared_down: "shared down",
};

/** W with its subscript, or the name of the product or MLP matrix. */
export function matrix_words(matrix: Matrix): Words {
  const letter = kProjections[matrix];
  return letter ? ["W", { sub: letter }] : (kOthers[matrix] ?? matrix);
}

/** The role of a matrix, in a few words. */
export const kMatrixMeanings: Readonly<Record<Matrix, string>> = {
  q: "query",
  k: "key",
  v: "value",
  o: "output",
  qk: "scores",
  ov: "head output",
  kv: "joint",
  gate: "MLP",
  up: "MLP",
  down: "MLP",
  q_a: "to query latent",
  q_b: "from query latent",
  kv_a: "to KV latent",
  kv_b: "from KV latent",
  attention_gate: "gates head outputs",
  qk_content: "scores without RoPE",
  qk_rotary: "scores with RoPE",
  qk_latent: "scores between latents",
  ov_latent: "output from KV latent",
  router: "selects experts",
  shared_gate: "shared experts",
  shared_up: "shared experts",
  shared_down: "shared experts",
};

/** Estimated width of a text in pixels, without a page. Errs on the wide side. */
export function text_width(text: string, size: number): number {
  let units = 0;
  for (const character of text) units += character_width(character);
  return units * size;
}

// Classes of Inter's widths: narrow, digits and signs, capitals, wide.
function character_width(character: string): number {
  if (/[iIl.,:;'|!ftj ]/.test(character)) return 0.37;
  if (/[mwMW%@—]/.test(character)) return 0.99;
  if (/[≤≥→…]/.test(character)) return 0.87;
  if (/[A-Z]/.test(character)) return 0.76;
  return /[\d+\u2212±]/.test(character) ? 0.65 : 0.61;
}

/** The part of a text that fits in a width, with an ellipsis. Each character is measured once, because tokens can be very long. */
export function fitted(text: string, width: number, size: number): string {
  const room = width / size - character_width("…");
  let [units, end, kept] = [0, 0, 0];
  for (const character of text) {
    units += character_width(character);
    end += character.length;
    if (kept === 0 || units <= room) kept = end;
    if (units * size > width) return kept < text.length ? `${text.slice(0, kept)}…` : text;
  }
  return text;
}
