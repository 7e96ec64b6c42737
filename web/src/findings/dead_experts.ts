// Experts that a text never reaches, though chance would reach every one of them.
import { numbers, rows_of } from "../data/report";
import { layers_words, strong } from "../shaping/shared_words";
import type { Claim, Kind } from "./finding";

/** How likely it may be that routers without preferences leave even one expert out, in any layer. */
const kChance = 1e-3;

export const claim: Claim = {
  sentence: "`… experts are never chosen`",
  guard: `chance of even one unreached expert below ${kChance}`,
  chance: "routers without preferences",
  experiment: "random models; a router's row that every token repels",
  result: "silent; that expert is named, and no other",
};

export const dead_experts: Kind = ({ report, model }) => {
  const rows = rows_of(report, "routing", model.name);
  const all = rows.reduce((sum, row) => sum + row.experts, 0);
  const chance = rows.reduce((sum, row) => sum + row.experts * (1 - row.chosen / row.experts) ** row.tokens, 0);
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
    unit: `experts ${count === 1 ? "is" : "are"} never chosen`,
    words: [
      "on the ",
      strong(first.tokens),
      ` tokens of the text, in ${layers_words(dead.map(({ layer }) => layer))}; most, `,
      strong(worst.count),
      ", in layer ",
      strong(worst.layer),
      ". Routers that chose evenly would have reached every one.",
    ],
    distance: count / all,
    see: { view: "experts", state: { l: worst.layer } },
  };
};
