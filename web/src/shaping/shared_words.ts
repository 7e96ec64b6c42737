// Wording shared by findings, titles and notes.
import { head_name, matrix_words, type Word, type Words } from "../chart/rich_text";
import { field } from "../data/fields";
import type { Report } from "../data/report";
import type { AttentionLayerRow, Matrix } from "../data/report_file";

export const strong = (value: string | number): Word => ({ strong: String(value) });

/** "L5H7", in bold. */
export const head_words = (place: { layer: number; head: number }): Word[] => [strong(head_name(place))];

/** "layer 3", "L3H2", or "layer 3, KV head 1" for matrices whose heads are key/value heads. */
export const place_words = ({ layer, matrix, head }: { layer: number; matrix: string; head: number | null }): string =>
  head === null
    ? `layer ${layer}`
    : matrix === "k" || matrix === "v" || matrix === "kv"
      ? `layer ${layer}, KV head ${head}`
      : head_name({ layer, head });

/** "W_Q, layer 3" or "W_Q, L3H2". */
export const matrix_place_words = (place: { layer: number; matrix: Matrix; head: number | null }): Exclude<Words, string> => [
  ...[matrix_words(place.matrix)].flat(),
  `, ${place_words(place)}`,
];

/** A fraction as a percentage, with all its digits: "99.9%". */
export const threshold_words = (threshold: number): string => `${Number((threshold * 100).toPrecision(6))}%`;

/** The first and last layer of each run of consecutive layers. */
function layer_runs(layers: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const layer of layers) {
    const last = runs[runs.length - 1];
    if (last && layer === last[1] + 1) last[1] = layer;
    else runs.push([layer, layer]);
  }
  return runs;
}

/** "layers 2, 5 and 9–11" */
export function layers_words(layers: readonly number[]): string {
  const words = layer_runs(layers).flatMap(([from, to]) =>
    to > from + 1 ? [`${from}–${to}`] : from === to ? [String(from)] : [String(from), String(to)],
  );
  const last = words.pop();
  return `layer${layers.length > 1 ? "s" : ""} ${words.length > 0 ? `${words.join(", ")} and ` : ""}${last}`;
}

/** What "collapsed" means: the text comes from the program, which knows the thresholds. */
export const collapse_words = (report: Report): string => field(report, "attention", "collapsed")?.words ?? "";

/** Which layers have collapsed. Undefined if the report does not decide it (short texts, another energy threshold). */
export function collapsed_words(report: Report, rows: readonly AttentionLayerRow[]): string | undefined {
  if (rows.length === 0 || rows.some((row) => row.collapsed === null)) return undefined;
  const layers = rows.filter((row) => row.collapsed === true).map((row) => row.layer);
  const which =
    layers.length === 0
      ? "No layer has collapsed"
      : `${layers_words(layers).replace("l", "L")} ${layers.length === 1 ? "has" : "have"} collapsed`;
  return `${which} (${collapse_words(report)}).`;
}
