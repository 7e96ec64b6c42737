// Attention maps whose rank falls or rises with depth by more than in random models. With large random weights, maps are far from uniform
// and the rank falls by up to 40%.
import { rows_of, analysis } from "../data/report";
import type { AttentionLayerRow } from "../data/report_file";
import { text_length } from "../shaping/texts";
import { strong, threshold_words } from "../shaping/shared_words";
import { between, type Claim, figure, type Kind, kShortestText, percent } from "./finding";
import { trend } from "./trend_with_depth";

const kMostLeft = 0.5;

export const claim: Claim = {
  sentence: "`… → … MaxRank … falls (rises) with depth`",
  guard:
    "The trend is consistent over all layers (defined in `trend_with_depth.ts`). The rank changes by at least " +
    `${percent(1 - kMostLeft)} and by at least 3. The text has at least ${kShortestText} tokens`,
  chance: "random weights: if the attention maps are far from uniform, their rank falls by up to 40%",
  experiment: "random models; a planted model whose attention scores become smaller with depth",
  result: "random models: not shown. Planted model: found. The finding describes the attention maps of this text",
};

export const attention_rank_by_depth: Kind = (reading) => {
  const { report, model } = reading;
  const tokens = text_length(reading);
  const rows = rows_of(report, "attention", model.name).filter((row): row is AttentionLayerRow => row.head === null);
  const layers = Array.from({ length: model.layers }, (_, layer) => rows.find((row) => row.layer === layer));
  const values = layers.map((row) => row?.mean_max_rank ?? null);
  const way = trend(
    values,
    layers.map((row) => row?.mean_max_rank_error ?? null),
  );
  const [first, last] = [values[0], values[values.length - 1]];
  if (!way || tokens < kShortestText || first == null || last == null) return undefined;
  const [most, least] = way === "falls" ? [first, last] : [last, first];
  if (least > kMostLeft * most || most - least < 3) return undefined;
  const energy = analysis(report, "attention")?.parameters.energy;
  return {
    kind: "attention_rank_by_depth",
    figure: `${figure(first)} → ${figure(last)}`,
    unit: `MaxRank${typeof energy === "number" ? ` at ${threshold_words(energy)}` : ""}`,
    words: [
      `The highest rank of any attention map in a layer ${way} with depth, from the first to the last layer (maximum possible: `,
      strong(tokens),
      `). No layer is clearly ${way === "falls" ? "above" : "below"} an earlier one.`,
    ],
    spark: { values, color: "accent" },
    distance: between(most, least, 0),
    see: { view: "attention", state: { l: model.layers - 1, h: null } },
  };
};
