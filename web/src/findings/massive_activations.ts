// A single activation of the residual stream that is far larger than the others (Sun et al. 2024).
import { largest } from "../data/numbers";
import { parameters_of, rows_of } from "../data/report";
import type { AttentionLayerRow } from "../data/report_file";
import { text_length } from "../shaping/texts";
import { layers_words, strong } from "../shaping/shared_words";
import { type Claim, figure, type Kind, kShortestText } from "./finding";

const kLeast = 100;
const kTimesMedian = 100;

export const claim: Claim = {
  sentence: "`… is a massive activation`",
  guard:
    `The magnitude is above ${kLeast} and above ${kTimesMedian} times the median magnitude of the sequence. (Sun et al. 2024 use 100 and ` +
    `about 1,000 times the median in large models.) The text has at least ${kShortestText} tokens`,
  chance: "expected maximum of n Gaussian activations: √(2 ln n) / 0.67 times their median absolute value",
  experiment: "hidden states from transformers in float64; random models; a planted bias of +400 in one dimension",
  result:
    "activations: equal to within 10⁻⁴. Random models: not shown. Planted bias: found, with the correct dimension, in its layer and all " +
    "later layers",
};

/** Expected maximum of `count` Gaussian numbers, relative to their median magnitude. */
const gaussian_ratio = (count: number): number => Math.sqrt(2 * Math.log(Math.max(2, count))) / 0.6745;

export const massive_activations: Kind = (reading) => {
  const { report, model } = reading;
  const tokens = text_length(reading);
  const layers = rows_of(report, "attention", model.name).filter((row): row is AttentionLayerRow => row.head === null);
  const massive = layers.filter((row) => (row.max_activation ?? 0) > kLeast && (row.activation_ratio ?? 0) > kTimesMedian);
  const found = largest(massive, (row) => row.activation_ratio);
  if (!found || tokens < kShortestText) return undefined;
  const { row: best, value: ratio } = found;
  const length = parameters_of(report, "attention", model.name)?.length;
  const chance = gaussian_ratio((typeof length === "number" ? length : tokens) * model.hidden_size);
  const of_layers = massive.map((row) => row.layer).sort((a, b) => a - b);
  const others =
    massive.length === 1
      ? "No other layer has one"
      : `Layers with massive activations: ${layers_words(of_layers).replace(/^layers? /, "")}`;
  return {
    kind: "massive_activations",
    figure: figure(best.max_activation ?? 0),
    unit: "massive activation",
    words: [
      "in the residual stream after layer ",
      strong(best.layer),
      ", dimension ",
      strong(best.activation_dimension ?? 0),
      ", position ",
      strong(best.activation_position ?? 0),
      ": ",
      strong(figure(ratio)),
      " times the median magnitude (Gaussian activations: about ",
      strong(figure(Number(chance.toPrecision(2)))),
      `). ${others}.`,
    ],
    spark: {
      values: Array.from({ length: model.layers }, (_, layer) => layers.find((row) => row.layer === layer)?.activation_ratio ?? null),
      null_values: chance,
      color: "accent",
    },
    distance: 1 - chance / ratio,
    see: { view: "attention", state: { l: best.layer, h: null } },
  };
};
