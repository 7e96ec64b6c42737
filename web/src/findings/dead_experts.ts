// Experts that receive no token of the text, although balanced routing would reach all experts.
import { numbers, rows_of } from "../data/report";
import { layers_words, strong } from "../shaping/shared_words";
import type { Claim, Kind } from "./finding";

/** Highest probability that balanced routers leave any expert of any layer unused. */
const kChance = 1e-3;

export const claim: Claim = {
  sentence: "`… experts receive no tokens`",
  guard: `With balanced routing, the probability that any expert receives no tokens is below ${kChance}`,
  chance: "balanced routing",
  experiment: "random models; a planted expert whose row in the router gives every token a low score",
  result: "random models: not shown. Planted expert: found, and no other expert",
};

export const dead_experts: Kind = ({ report, model }) => {
  const rows = rows_of(report, "routing", model.name);
  const all = rows.reduce((sum, row) => sum + row.experts, 0);
  const chance = rows.reduce((sum, row) => sum + row.experts * (1 - row.experts_per_token / row.experts) ** row.tokens, 0);
  if (all === 0 || chance > kChance) return undefined;
  const dead = rows
    .map((row) => ({ layer: row.layer, count: Array.from(numbers(report, row.load)).filter((load) => load === 0).length }))
    .filter(({ count }) => count > 0);
  const count = dead.reduce((sum, each) => sum + each.count, 0);
  const worst = [...dead].sort((a, b) => b.count - a.count)[0];
  const [first] = rows;
  if (!worst || !first) return undefined;
  return {
    kind: "dead_experts",
    figure: `${count} of ${all}`,
    unit: `experts ${count === 1 ? "receives" : "receive"} no tokens`,
    words: [
      "Text of ",
      strong(first.tokens),
      ` tokens; affected: ${layers_words(dead.map(({ layer }) => layer))}. Most in one layer: `,
      strong(worst.count),
      " (layer ",
      strong(worst.layer),
      "). Balanced routing would reach every expert.",
    ],
    distance: count / all,
    see: { view: "experts", state: { l: worst.layer } },
  };
};
