// Layers whose maps are all but one column.
import { analysis, rows_of } from "../data/report";
import type { AttentionLayerRow } from "../data/report_file";
import { between, figure, kShortestText, layers_words, reads_one_way, strong, text_length, type Kind } from "./finding";

/** The columns that hold a share of all squared weights where each query looks evenly at all that it sees. */
export function even_columns(tokens: number, one_way: boolean, share: number): number {
  if (!one_way) return Math.ceil(share * tokens);
  const columns = new Float64Array(tokens);
  for (let key = tokens - 1, sum = 0; key >= 0; --key) columns[key] = sum += 1 / (key + 1) ** 2;
  const wanted = share * columns.reduce((sum, column) => sum + column, 0);
  let [count, sum] = [0, 0];
  while (count < tokens && sum < wanted) sum += columns[count++]!;
  return count;
}

export const collapsed_layers: Kind = (reading) => {
  const { report, model } = reading;
  const tokens = text_length(reading);
  // The cuts of a collapse, two directions and two columns, are meant for this energy.
  if (analysis(report, "attention")?.parameters.energy !== 0.9 || tokens < kShortestText) return undefined;
  const rows = rows_of(report, "attention", model.name).filter((row): row is AttentionLayerRow => row.head === null);
  const collapsed = rows.filter((row) => row.collapsed).sort((a, b) => a.layer - b.layer);
  if (collapsed.length === 0) return undefined;
  const most = Math.max(...collapsed.map((row) => row.mean_columns));
  const layers = Array.from({ length: model.layers }, (_, layer) => rows.find((row) => row.layer === layer)?.mean_columns ?? null);
  const even = even_columns(tokens, reads_one_way(reading), 0.9);
  const one = collapsed.length === 1;
  return {
    kind: "collapsed", figure: `${collapsed.length} of ${rows.length}`, unit: one ? "layers has collapsed" : "layers have collapsed",
    words: [`${layers_words(collapsed.map((row) => row.layer))}: even the richest head's map needs fewer than two directions, and in the mean no more than `, strong(figure(most)),
      " of ", strong(tokens), " columns. Even attention needs ", strong(even), "."],
    spark: { values: layers, null_values: even, colour: "accent" },
    distance: between(even, most, 1),
    see: { view: "attention", state: { l: collapsed[0]!.layer, h: null } },
  };
};
