// Layers whose maps are all but one column. Rows say so only of texts and an energy for which the cuts are meant: docs/metrics.md.
import { largest } from "../data/numbers";
import { rows_of } from "../data/report";
import type { AttentionLayerRow } from "../data/report_file";
import { text_length } from "../shaping/texts";
import { strong, layers_words, collapse_words } from "../shaping/shared_words";
import { between, type Claim, figure, type Kind } from "./finding";

export const claim: Claim = {
  sentence: "`… layers have collapsed`",
  guard: "both cuts of the rows: `docs/metrics.md`; 16 keys",
  chance: "even attention",
  experiment: "random models; a layer whose heads all park on the first token",
  result: "none is called collapsed; said of that layer alone",
};

export const collapsed_layers: Kind = (reading) => {
  const { report, model } = reading;
  const tokens = text_length(reading);
  const rows = rows_of(report, "attention", model.name).filter((row): row is AttentionLayerRow => row.head === null);
  const collapsed = rows.filter((row) => row.collapsed === true).sort((a, b) => a.layer - b.layer);
  const by_layer = (value: (row: AttentionLayerRow) => number | null | undefined) =>
    Array.from({ length: model.layers }, (_, layer) => {
      const there = rows.find((row) => row.layer === layer);
      return (there && value(there)) ?? null;
    });
  const [first] = collapsed;
  const widest = largest(collapsed, (row) => row.mean_energy_columns);
  const even = widest?.row.uniform_energy_columns;
  if (!first || !widest || even === undefined) return undefined;
  const one = collapsed.length === 1;
  return {
    kind: "collapsed",
    figure: `${collapsed.length} of ${rows.length}`,
    unit: one ? "layers has collapsed" : "layers have collapsed",
    words: [
      `${layers_words(collapsed.map((row) => row.layer))}: ${collapse_words(report)}; at most `,
      strong(figure(widest.value)),
      " of ",
      strong(tokens),
      " columns here. Even attention needs ",
      strong(even),
      ".",
    ],
    spark: { values: by_layer((row) => row.mean_energy_columns), null_values: by_layer((row) => row.uniform_energy_columns), colour: "accent" },
    distance: between(even, widest.value, 1),
    see: { view: "attention", state: { l: first.layer, h: null } },
  };
};
