// Heads that raise the token they read, or lower it.
import { format_number } from "../chart/number";
import { rows_of } from "../data/report";
import { place_words, strong, type Kind } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

/**
 * What copying scores of random heads hardly exceed. The product in the other order has entries of variance D: its trace has a deviation of
 * sqrt(d D), its d eigenvalues fill a disk of radius sqrt(d D), which gives 1.5 / d; the largest of n such scores lies near sqrt(2 ln n) deviations.
 */
export const copying_noise = (head_dim: number, heads: number): number => (1.5 / head_dim) * (Math.sqrt(2 * Math.log(Math.max(2, heads))) + 1);

export const copying_heads: Kind = ({ report, model }) => {
  const rows = rows_of(report, "circuits", model.name).filter((row) => row.circuit === "ov" && row.head !== null);
  const score = (row: (typeof rows)[number]) => row.copying_score;
  const noise = copying_noise(model.head_dim, rows.length);
  const cut = Math.max(0.5, 1.5 * noise);
  if (cut >= 1) return undefined;
  const raise = strongest_heads(rows, cut, score);
  const lower = strongest_heads(rows, cut, (row) => (row.copying_score === null ? null : -row.copying_score));
  const copies = (raise?.count ?? 0) >= (lower?.count ?? 0);
  const [found, opposite] = copies ? [raise, lower?.count ?? 0] : [lower, raise?.count ?? 0];
  if (!found) return undefined;
  const { best, most, count } = found;
  return {
    kind: "copying", ...(copies ? head_count(found, "copies", "copy") : head_count(found, "suppresses", "suppress")),
    words: [`${count === 1 ? "It" : "They"} ${copies ? "raise" : "lower"}${count === 1 ? "s" : ""} the token ${count === 1 ? "it reads" : "they read"} (copying score ${copies ? "above" : "below"} ${format_number(copies ? cut : -cut, ".2~f")}), clearest in `,
      ...place_words(best), " with ", strong(format_number(copies ? most : -most, "score")), `.${opposite > 0 ? ` ${opposite} ${opposite === 1 ? "does" : "do"} the reverse.` : ""} Random heads stay within ±`,
      strong(format_number(noise, ".2f")), "."],
    spark: head_spark(model.layers, rows, (row) => (row.copying_score === null ? null : copies ? row.copying_score : -row.copying_score), 0, { role: "ov" }),
    distance: most,
    see: { view: "heads", state: { l: best.layer, h: best.head } },
  };
};
