// A fine-tuning change that fits in much smaller LoRA factors than a random change.
import { adapter_parameters, diff_rows, whole_parameters } from "../shaping/adapter_size";
import { strong } from "../shaping/shared_words";
import { at_most_percent, type Claim, type Kind, small_percent } from "./finding";

const kThreshold = "0.9";
const kMostOfBaseline = 0.5;

export const claim: Claim = {
  sentence: "`… relative adapter size … LoRA factors of this size hold 90% of the energy of the change`",
  guard: `The LoRA factors of the change have at most ${kMostOfBaseline} times the size of factors for a random change`,
  chance: "random changes of the same shapes",
  experiment: "a planted change of rank 2; a random change",
  result: "change of rank 2: found. Random change: not shown",
};

export const small_adapter: Kind = (reading) => {
  const rows = diff_rows(reading).filter((row) => row.change_norm > 0 && row.energy_rank[kThreshold] !== undefined);
  const whole = whole_parameters(rows);
  if (whole === 0) return undefined;
  const own = adapter_parameters(rows, (row) => row.energy_rank[kThreshold]);
  const random = adapter_parameters(rows, (row) => row.random_energy_rank[kThreshold]);
  if (own > kMostOfBaseline * random) return undefined;
  return {
    kind: "small_adapter",
    figure: at_most_percent(own / whole),
    unit: "relative adapter size",
    words: [
      "LoRA factors of this size hold 90% of the energy of the change from the base model (random change: ",
      strong(small_percent(random / whole)),
      ").",
    ],
    distance: 1 - own / random,
    see: { view: "difference", state: {} },
  };
};
