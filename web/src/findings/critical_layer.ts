// A layer whose removal costs far more than the removal of any other layer.
import { format_number } from "../chart/number_format";
import { rows_of } from "../data/report";
import { strong } from "../shaping/shared_words";
import type { Claim, Kind } from "./finding";

const kLeastLoss = 1; // nats: 2.7 times the perplexity
const kTimes = 5; // times the median of the other layers

export const claim: Claim = {
  sentence: "`× … perplexity when only layer … is removed`",
  guard:
    `Removing the layer increases the loss by at least ${kLeastLoss} nat, and by at least ${kTimes} times the median loss increase over ` +
    "the other layers",
  chance: "the median loss increase over the other layers",
  experiment: "removal of the layer, with the loss measured on the evaluation text; a random model",
  result: "removed layer: the finding states the measured loss. Random model: not shown",
};

export const critical_layer: Kind = ({ report, model }) => {
  const rows = rows_of(report, "plan_layers", model.name)
    .flatMap(({ layer, loss_increase: loss }) => (layer === null || loss === null ? [] : [{ layer, loss }]))
    .sort((a, b) => b.loss - a.loss);
  const [most, ...others] = rows;
  const median = others[Math.floor(others.length / 2)];
  if (!most || !median || others.length < 2 || most.loss < kLeastLoss || most.loss < kTimes * Math.max(0, median.loss)) return undefined;
  return {
    kind: "critical_layer",
    figure: `× ${format_number(Math.exp(most.loss), ".2~r")}`,
    unit: "perplexity",
    words: [
      "when only layer ",
      strong(most.layer),
      " is removed (median of the other layers: ",
      strong(`× ${format_number(Math.exp(median.loss), ".3~r")}`),
      ").",
    ],
    distance: 1 - Math.max(0, median.loss) / most.loss,
    effect: most.loss,
    see: { view: "plan", state: {} },
  };
};
