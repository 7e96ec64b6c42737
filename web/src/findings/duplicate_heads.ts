// Heads of a layer that read nearly the same spaces with queries, keys and values alike. What they make of them may differ.
import { matrices_of, rows_of } from "../data/report";
import { distinct } from "../data/shared_weights";
import { strong, layers_words } from "../shaping/shared_words";
import { overlaps_of } from "../shaping/subspace_overlaps";
import { type Claim, figure, type Kind } from "./finding";

/** From here on two spaces count as one. */
export const kDuplicate = 0.9;

export const claim: Claim = {
  sentence: "`heads … read nearly the same`",
  guard: `overlap of ${kDuplicate} in query, key and value space, where chance gives 0.5 at most`,
  chance: "overlap of random spaces of those ranks",
  experiment: "random models; a head copied, with noise",
  result: "silent; found. It says what they read, not what they make of it",
};

export const duplicate_heads: Kind = ({ report, model }) => {
  const projections = matrices_of(report, "overlap", model.name);
  if (!(["q", "k", "v"] as const).every((matrix) => projections.includes(matrix))) return undefined;
  const group = (head: number) => Math.floor((head * model.kv_heads) / model.heads);
  const pairs = [];
  const of_queries = rows_of(report, "overlap", model.name).filter((each) => each.matrix === "q");
  for (const row of distinct(model, of_queries, ["q", "k", "v"])) {
    const queries = overlaps_of(report, row, model.width);
    const joint = (["k", "v"] as const).map((matrix) => {
      const other = rows_of(report, "overlap", model.name).find((each) => each.layer === row.layer && each.matrix === matrix);
      return other && overlaps_of(report, other, model.width);
    });
    for (const { a, b, overlap, chance } of queries) {
      // Query heads of one group share their keys and values.
      const others = joint.map((each) =>
        group(a) === group(b) ? { overlap: 1, chance: 0 } : each?.find((pair) => pair.a === group(a) && pair.b === group(b)),
      );
      const alike = [{ overlap, chance }, ...others].flatMap((each) =>
        each && each.overlap >= kDuplicate && each.chance <= 0.5 ? [each] : [],
      );
      if (alike.length <= others.length) continue;
      pairs.push({
        layer: row.layer,
        a,
        b,
        overlap: Math.min(...alike.map((each) => each.overlap)),
        chance: Math.max(...alike.map((each) => each.chance)),
      });
    }
  }
  const best = pairs.sort((one, other) => other.overlap - one.overlap)[0];
  if (!best) return undefined;
  const more = pairs.length - 1;
  return {
    kind: "duplicate_heads",
    figure: figure(best.overlap),
    unit: "overlap",
    words: [
      "heads ",
      strong(best.a),
      " and ",
      strong(best.b),
      " of layer ",
      strong(best.layer),
      " read nearly the same: each of their query, key and value spaces overlaps at least that much. Equal spaces have 1, chance gives ",
      strong(figure(Number(best.chance.toPrecision(2)))),
      more > 0
        ? `. ${more} more such ${more === 1 ? "pair" : "pairs"} in ` +
          `${layers_words([...new Set(pairs.map((pair) => pair.layer))].sort((a, b) => a - b))}.`
        : ".",
    ],
    distance: (best.overlap - best.chance) / (1 - best.chance),
    see: { view: "similarity", state: { l: best.layer, h: best.a, matrix: "q" } },
  };
};
