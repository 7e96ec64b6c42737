// Words that several sentences, titles and notes share.
import { matrix_words, type Word, type Words } from "../chart/rich_text";
import { field } from "../data/fields";
import type { Report } from "../data/report";
import type { AttentionLayerRow, Matrix } from "../data/report_file";

export const strong = (value: string | number): Word => ({ strong: String(value) });

/** "layer 5 head 7" */
export const head_words = ({ layer, head }: { layer: number; head: number }): Word[] => ["layer ", strong(layer), " head ", strong(head)];

/** "W_Q, layer 3, head 2" */
export const matrix_place_words = ({
  layer,
  matrix,
  head,
}: {
  layer: number;
  matrix: Matrix;
  head: number | null;
}): Exclude<Words, string> => [...[matrix_words(matrix)].flat(), `, layer ${layer}${head === null ? "" : `, head ${head}`}`];

/** A share as a percentage, with as many digits as it has. */
export const threshold_words = (threshold: number): string => `${Number((threshold * 100).toPrecision(6))}\u202f%`;

/** The first and the last of each run of layers that follow one another. */
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

/** What it means that layers have collapsed; the binary knows the cuts. */
export const collapse_words = (report: Report): string => field(report, "attention", "collapsed")?.words ?? "";

/** Which layers have collapsed, and what that is; undefined where the report does not judge it: of short texts, and at another energy. */
export function collapsed_words(report: Report, rows: readonly AttentionLayerRow[]): string | undefined {
  if (rows.length === 0 || rows.some((row) => row.collapsed === null)) return undefined;
  const layers = rows.filter((row) => row.collapsed === true).map((row) => row.layer);
  const which =
    layers.length === 0
      ? "No layer has collapsed"
      : `${layers_words(layers).replace("l", "L")} ${layers.length === 1 ? "has" : "have"} collapsed`;
  return `${which} (${collapse_words(report)}).`;
}
