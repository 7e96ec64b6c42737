// Dimensions with large activations at many positions and in many layers (Dettmers et al. 2022). They make 8-bit quantization hard.
import { rows_of } from "../data/report";
import type { AttentionLayerRow } from "../data/report_file";
import { text_length } from "../shaping/texts";
import { strong } from "../shaping/shared_words";
import { type Claim, type Kind, kShortestText, percent } from "./finding";

const kLayers = 0.25;
/** As a fraction of the hidden size: if more dimensions are large, none stands out. */
const kMostOfWidth = 0.05;
const kMostNamed = 3;

export const claim: Claim = {
  sentence: "`… dimensions are outliers`",
  guard:
    `The attention input has a magnitude of at least 6 in this dimension at 6% of the positions, in ${percent(kLayers)} of the layers ` +
    `and in at least 2 layers (Dettmers et al. 2022). Layers in which more than ${percent(kMostOfWidth)} of the dimensions qualify do ` +
    `not count. The text has at least ${kShortestText} tokens`,
  chance: "Gaussian activations with unit variance: no outlier dimensions",
  experiment: "an independent count on hidden states from transformers; random models; a planted bias of +400 in one dimension",
  result:
    "independent count: equal, with no outlier dimensions in any of the five models. Random models: not shown. " +
    "Planted dimension: found, and no other dimension",
};

export const outlier_dimensions: Kind = (reading) => {
  const { report, model } = reading;
  const layers = rows_of(report, "attention", model.name).filter(
    (row): row is AttentionLayerRow =>
      row.head === null && typeof row.outlier_count === "number" && row.outlier_count <= kMostOfWidth * model.hidden_size,
  );
  const times = new Map<number, number>();
  for (const row of layers) for (const dimension of row.outlier_dimensions ?? []) times.set(dimension, (times.get(dimension) ?? 0) + 1);
  const least = Math.max(2, Math.ceil(kLayers * model.layers));
  const found = [...times].filter(([, count]) => count >= least).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const [first] = found;
  if (!first || text_length(reading) < kShortestText) return undefined;
  const [most, count] = first;
  const named = found.slice(0, kMostNamed).map(([dimension]) => dimension);
  const left = found.length - named.length;
  return {
    kind: "outlier_dimensions",
    figure: String(found.length),
    unit: found.length === 1 ? "outlier dimension" : "outlier dimensions",
    words: [
      `Dimension${found.length === 1 ? "" : "s"} ${named.join(", ")}`,
      `${left > 0 ? ` and ${left} more` : ""}: magnitude of at ` +
        "least 6 at 6% of the positions of the attention input. Most frequent: dimension ",
      strong(most),
      ", in ",
      strong(`${count} of ${model.layers}`),
      " layers. Gaussian activations with unit variance: none.",
    ],
    distance: Math.min(1, count / model.layers),
    see: { view: "attention", state: { l: layers.find((row) => row.outlier_dimensions?.includes(most))?.layer ?? 0, h: null } },
  };
};
