// Numbers as people read them: U+2212 for minus, a narrow space before %, "–" for none.
import { format } from "d3-format";

/** A specifier of d3-format, or: "score" +.72, "share" .07, "percent" 37 %, "tick" as short as exact. */
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
  if (form === "score") {
    const text = formatter("+.2f")(value);
    return text === `${kMinus}0.00` || text === "+0.00" ? ".00" : text.replace(/0\./, ".");
  }
  if (form === "share") return formatter(".2f")(value).replace(/^(\u2212?)0\./, "$1.");
  if (form === "percent") return `${formatter(".0f")(value * 100)}\u202f%`;
  if (form === "tick") return tick(value);
  return formatter(form)(value);
}

function tick(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return formatter(".1~e")(value).replace("e+", "e").replace("-", kMinus);
  if (size >= 1000) return formatter(",~r")(value);
  return formatter("~r")(Number(value.toPrecision(4)));
}

const kPowers = ["", "k", "M", "G", "T"];
/** 22.7 M: a count in three figures. */
export function count_words(value: number): string {
  let [power, rest] = [0, value];
  while (rest >= 999.5 && power < kPowers.length - 1) [power, rest] = [power + 1, rest / 1000];
  return power === 0 ? formatter(",")(value) : `${formatter(rest >= 100 ? ".0f" : ".1f")(rest)}\u202f${kPowers[power]}`;
}

/** 1 token, 1,200 tokens. */
export const counted = (count: number, one: string): string => `${count.toLocaleString("en")} ${count === 1 ? one : `${one}s`}`;

export const bytes_words = (bytes: number): string => (bytes < 1000 ? `${bytes}\u202fB` : `${count_words(bytes)}B`);
