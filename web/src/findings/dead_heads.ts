// Heads whose output is almost 0 relative to the residual stream: pruned or never trained.
import { attention_heads } from "../shaping/head_grid";
import { text_length } from "../shaping/texts";
import { strong, head_words } from "../shaping/shared_words";
import { type Claim, type Kind, kShortestText, percent, small_percent } from "./finding";

/** As a fraction of the median head. */
const kMost = 0.01;

export const claim: Claim = {
  sentence: "`… heads are nearly dead`",
  guard:
    `The norm of the head's output, relative to the residual stream, is at most ${percent(kMost)} of the median over heads. The norm is ` +
    `below this limit by more than 2 standard errors. The text has at least ${kShortestText} tokens`,
  chance: "the median over the model's heads",
  experiment:
    "the norms with PyTorch hooks in float64; random models; a planted head whose output is scaled by 10⁻⁴; ablation of the planted head",
  result:
    "norms: equal to within 10⁻⁴. Random models: not shown. Planted head: found, and no other head. Ablating the planted head changes " +
    "the loss by less than 10⁻⁴ nats",
};

export const dead_heads: Kind = (reading) => {
  const { report, model } = reading;
  const heads = attention_heads(report, model.name).flatMap((row) =>
    typeof row.output_ratio === "number"
      ? [{ layer: row.layer, head: row.head, ratio: row.output_ratio, error: row.output_ratio_error ?? 0 }]
      : [],
  );
  const sorted = [...heads].sort((a, b) => a.ratio - b.ratio);
  const median = sorted[Math.floor(sorted.length / 2)]?.ratio ?? 0;
  const dead = sorted.filter(({ ratio, error }) => ratio + 2 * error <= kMost * median);
  const [weakest] = dead;
  if (!weakest || median <= 0 || text_length(reading) < kShortestText) return undefined;
  return {
    kind: "dead_heads",
    figure: `${dead.length} of ${heads.length}`,
    unit: dead.length === 1 ? "heads is nearly dead" : "heads are nearly dead",
    words: [
      "Weakest: ",
      ...head_words(weakest),
      ". Its output has ",
      strong(weakest.ratio === 0 ? "0%" : small_percent(weakest.ratio)),
      " of the norm of the residual stream (median head: ",
      strong(small_percent(median)),
      ").",
    ],
    distance: 1 - weakest.ratio / median,
    see: { view: "attention", state: { l: weakest.layer, h: weakest.head } },
  };
};
