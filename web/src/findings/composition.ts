// A head that reads what an earlier one writes.
import { rows_of } from "../data/report";
import { between, figure, place_words, strong, type Kind } from "./finding";

export const composition: Kind = ({ report, model }) => {
  const rows = rows_of(report, "composition", model.name).filter((row) => row.score !== null);
  const best = [...rows].sort((a, b) => b.score! - a.score!)[0];
  const chance = 1 / Math.sqrt(model.width);
  if (!best || best.score! < Math.max(0.25, 3 * chance)) return undefined;
  return {
    kind: "composition", figure: figure(best.score!), unit: `${best.kind.toUpperCase()}-composition`,
    words: ["of ", ...place_words(best), " with ", ...place_words({ layer: best.to_layer, head: best.to_head }), `, the most of any two heads: the later one's ${{ q: "queries are", k: "keys are", v: "values are" }[best.kind]} made of what the earlier one writes. Random heads have `, strong(figure(Number(chance.toPrecision(2)))), "."],
    distance: between(chance, best.score!, 1),
    see: { view: "heads", state: { l: best.to_layer, h: best.to_head } },
  };
};
