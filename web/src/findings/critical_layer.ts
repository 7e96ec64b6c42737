// A layer without which the model falls apart, where the others matter far less.
import { format_number } from "../chart/number_format";
import { rows_of } from "../data/report";
import { strong } from "../shaping/shared_words";
import type { Claim, Kind } from "./finding";

const kLeastLoss = 1; // nats: 2.7 times the perplexity
const kTimes = 5; // the median of the others

export const claim: Claim = {
  sentence: "`perplexity without layer … alone`",
  guard: `${kLeastLoss} nat, and ${kTimes} times the median of the others`,
  chance: "the other layers",
  experiment: "it is one: the layer left out, on held-out text; a random model",
  result: "measured; silent",
};

export const critical_layer: Kind = ({ report, model }) => {
  const rows = rows_of(report, "plan_layers", model.name)
    .flatMap(({ layer, loss }) => (layer === null || loss === null ? [] : [{ layer, loss }]))
    .sort((a, b) => b.loss - a.loss);
  const [most, ...others] = rows;
  const median = others[Math.floor(others.length / 2)];
  if (!most || !median || others.length < 2 || most.loss < kLeastLoss || most.loss < kTimes * Math.max(0, median.loss)) return undefined;
  return {
    kind: "needed_layer",
    figure: `× ${format_number(Math.exp(most.loss), ".2~r")}`,
    unit: "perplexity",
    words: [
      "without layer ",
      strong(most.layer),
      " alone; without another one, ",
      strong(`× ${format_number(Math.exp(median.loss), ".3~r")}`),
      " in the median.",
    ],
    distance: 1 - Math.max(0, median.loss) / most.loss,
    effect: most.loss,
    see: { view: "plan", state: {} },
  };
};
