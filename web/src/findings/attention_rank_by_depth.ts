// Attention maps that lose rank, or gain it, with depth, by more than those of random weights do: where these are so large that maps are
// far from even, rank falls by up to two fifths.
import { rows_of, analysis } from "../data/report";
import type { AttentionLayerRow } from "../data/report_file";
import { text_length } from "../shaping/texts";
import { strong, threshold_words } from "../shaping/shared_words";
import { between, type Claim, figure, type Kind, kShortestText, percent } from "./finding";
import { trend } from "./trend_with_depth";

const kMostLeft = 0.5;

export const claim: Claim = {
  sentence: "`from the first layer to the last, attention loses (gains) rank with depth`",
  guard:
    `every layer within errors of the way (\`trend_with_depth.ts\`); ${percent(1 - kMostLeft)} of the rank in all, and three ` +
    `ranks; text of ${kShortestText} tokens`,
  chance: "random weights: where their maps are far from even, rank falls by up to two fifths",
  experiment: "random models; one whose scores lose their force with depth",
  result: "silent; said. It describes these maps",
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
    kind: "attention_depth",
    figure: `${figure(first)} → ${figure(last)}`,
    unit: `MaxRank${typeof energy === "number" ? ` at ${threshold_words(energy)}` : ""}`,
    words: [
      "of at most ",
      strong(tokens),
      `: from the first layer to the last, attention ${way === "falls" ? "loses" : "gains"} rank with depth, and no layer has ` +
        `clearly ${way === "falls" ? "more" : "less"} than one before it.`,
    ],
    spark: { values, colour: "accent" },
    distance: between(most, least, 0),
    see: { view: "attention", state: { l: model.layers - 1, h: null } },
  };
};
