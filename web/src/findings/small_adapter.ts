// A change that far smaller factors hold than random changes would need.
import { adapter_parameters, diff_rows, whole_parameters } from "../shaping/adapter_size";
import { strong } from "../shaping/shared_words";
import { at_most_percent, type Claim, type Kind, small_percent } from "./finding";

const kThreshold = "0.9";
const kMostOfBaseline = 0.5;

export const claim: Claim = {
  sentence: "`… of the changed matrices' size hold 90 % of the energy of what was changed`",
  guard: `at most ${kMostOfBaseline} of what a random change takes`,
  chance: "random changes of those shapes",
  experiment: "a change of two directions; one of random numbers",
  result: "found; silent",
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
    unit: "of the changed matrices' size",
    words: [
      "hold 90\u202f% of the energy of what was changed since the base, as LoRA factors; random changes would take ",
      strong(small_percent(random / whole)),
      ".",
    ],
    distance: 1 - own / random,
    see: { view: "difference", state: {} },
  };
};
