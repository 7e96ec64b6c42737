// Number formatting: U+2212 for minus, "–" for no value.
import { format } from "d3-format";

/** A d3-format specifier, or "score" (+0.72), "share" (0.07), "percent" (37%), "tick" (shortest exact form). */
export type Format = string;

const kMinus = "\u2212";
const cache = new Map<string, (value: number) => string>();

function formatter(specifier: string): (value: number) => string {
  const known = cache.get(specifier);
  if (known) return known;
  const made = format(specifier);
  cache.set(specifier, made);
  return made;
}

export function format_number(value: number | null | undefined, form: Format): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (form === "score") return format_number(value, "+.2f");
  if (form === "share") return formatter(".2f")(value);
  if (form === "percent") return `${formatter(".0f")(value * 100)}%`;
  if (form === "tick") return tick(value);
  return formatter(form)(value).replace(/^[+\u2212](?=0(\.0+)?$)/, ""); // 0 has no sign
}

function tick(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return formatter(".1~e")(value).replace("e+", "e").replace("-", kMinus);
  if (size >= 1000) return formatter(",~r")(value);
  return formatter("~r")(Number(value.toPrecision(4)));
}

const kPowers = ["", "k", "M", "G", "T"];
/** A count with three significant digits: 22.7 M. */
export function count_words(value: number): string {
  let [power, rest] = [0, value];
  while (rest >= 999.5 && power < kPowers.length - 1) [power, rest] = [power + 1, rest / 1000];
  return power === 0 ? formatter(",")(value) : `${formatter(rest >= 100 ? ".0f" : ".1f")(rest)}\u202f${kPowers[power]}`;
}

/** "1 token", "1,200 tokens". */
export const counted = (count: number, one: string): string => `${count.toLocaleString("en")} ${count === 1 ? one : `${one}s`}`;

export const bytes_words = (bytes: number): string => (bytes < 1000 ? `${bytes}\u202fB` : `${count_words(bytes)}B`);
