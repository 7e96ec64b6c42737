// Words with subscripts and weight: W with a small Q below, a figure made bold. Never markup.
import type { Matrix } from "../data/report_file";
import { s, type Tree } from "./svg_tree";

export type Word = string | { sub: string } | { strong: string };
export type Words = string | readonly Word[];

const parts = (words: Words): readonly Word[] => (typeof words === "string" ? [words] : words);

/** Text on one line: what breaks lines, controls a terminal or turns the direction of text is shown as a replacement character. */
export const one_line = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");

/** At most so many characters, with an ellipsis for what is left out. */
export function clipped(text: string, longest: number): string {
  const characters = [...text];
  return characters.length > longest ? `${characters.slice(0, Math.max(1, longest - 1)).join("")}…` : text;
}

/** Words that fit where there is little room; longer ones lose their subscripts and their end. */
export const clipped_words = (words: Words, longest: number): Words =>
  plain(words).length > longest ? clipped(plain(words), longest) : words;

export function plain(words: Words): string {
  return one_line(
    parts(words)
      .map((word) => (typeof word === "string" ? word : "sub" in word ? `_${word.sub}` : word.strong))
      .join(""),
  );
}

/** tspans for a <text>: a subscript is lowered, and what follows it raised back. */
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

/** W with its letter below it, or the name of the product or MLP matrix. */
export function matrix_words(matrix: Matrix): Words {
  const letter = kProjections[matrix];
  return letter ? ["W", { sub: letter }] : (kOthers[matrix] ?? matrix);
}

/** What a matrix does, in a word or two. */
export const kMatrixMeanings: Readonly<Record<Matrix, string>> = {
  q: "query",
  k: "key",
  v: "value",
  o: "output",
  qk: "where to look",
  ov: "what to move",
  kv: "joint",
  gate: "MLP",
  up: "MLP",
  down: "MLP",
  q_a: "to the queries' latent",
  q_b: "queries from their latent",
  kv_a: "to the latent of keys and values",
  kv_b: "keys and values from their latent",
  attention_gate: "gates what heads give",
  qk_content: "where to look, whatever the distance",
  qk_rotary: "where to look, by distance",
  qk_latent: "where to look, in the latents",
  ov_latent: "what to move, from the latent",
  router: "chooses experts",
  shared_gate: "shared experts",
  shared_up: "shared experts",
  shared_down: "shared experts",
};

/** Width in pixels that text takes at a size; a guess that needs no page, a little wide rather than narrow. */
export function text_width(text: string, size: number): number {
  let units = 0;
  for (const character of text) units += character_width(character);
  return units * size;
}

const character_width = (character: string): number =>
  /[iIl.,:;'|!ftj ]/.test(character) ? 0.34 : /[mwMW%@—]/.test(character) ? 0.9 : 0.6;

/** As much of a text as fits in a width, with an ellipsis for the rest. Tokens can have thousands of characters: each is measured once. */
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
