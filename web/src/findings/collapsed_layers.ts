// Layers whose attention maps have collapsed to rank 1. Rows decide this only at the text lengths and energy threshold in docs/metrics.md.
import { largest } from "../data/numbers";
import { rows_of } from "../data/report";
import type { AttentionLayerRow } from "../data/report_file";
import { text_length } from "../shaping/texts";
import { strong, layers_words, collapse_words } from "../shaping/shared_words";
import { between, type Claim, figure, type Kind } from "./finding";

export const claim: Claim = {
  sentence: "`… layers have collapsed`",
  guard: "The layer meets both thresholds in `docs/metrics.md`. The text has at least 16 keys",
  chance: "uniform attention",
  experiment: "random models; a planted layer in which all heads attend to the first token",
  result: "random models: not shown. Planted layer: found, and no other layer",
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
  const uniform = widest?.row.uniform_energy_columns;
  if (!first || !widest || uniform === undefined) return undefined;
  const one = collapsed.length === 1;
  return {
    kind: "collapsed_layers",
    figure: `${collapsed.length} of ${rows.length}`,
    unit: one ? "layers has collapsed" : "layers have collapsed",
    words: [
      `In ${layers_words(collapsed.map((row) => row.layer))}: ${collapse_words(report)}. Here at most `,
      strong(figure(widest.value)),
      " of ",
      strong(tokens),
      " columns hold the energy (uniform: ",
      strong(uniform),
      ").",
    ],
    spark: {
      values: by_layer((row) => row.mean_energy_columns),
      null_values: by_layer((row) => row.uniform_energy_columns),
      color: "accent",
    },
    distance: between(uniform, widest.value, 1),
    see: { view: "attention", state: { l: first.layer, h: null } },
  };
};
