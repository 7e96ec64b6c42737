// Two heads of a layer whose query, key and value input subspaces are nearly the same. Their outputs may differ.
import { matrices_of, rows_of } from "../data/report";
import { distinct } from "../data/shared_weights";
import { strong, head_words, layers_words } from "../shaping/shared_words";
import { overlaps_of } from "../shaping/subspace_overlaps";
import { type Claim, figure, type Kind } from "./finding";

/** Overlap from which two subspaces count as the same. */
export const kDuplicate = 0.9;

export const claim: Claim = {
  sentence: "`… read from nearly the same subspaces`",
  guard:
    `The query, key and value subspaces of the two heads each overlap by at least ${kDuplicate}. The overlap of random subspaces is at ` +
    "most 0.5",
  chance: "random subspaces of the same ranks",
  experiment: "random models; a planted copy of a head, with noise",
  result: "random models: not shown. Planted copy: found. The finding describes the inputs of the heads, not their outputs",
};

export const duplicate_heads: Kind = ({ report, model }) => {
  const projections = matrices_of(report, "overlap", model.name);
  if (!(["q", "k", "v"] as const).every((matrix) => projections.includes(matrix))) return undefined;
  const group = (head: number) => Math.floor((head * model.kv_heads) / model.heads);
  const pairs = [];
  const of_queries = rows_of(report, "overlap", model.name).filter((each) => each.matrix === "q");
  for (const row of distinct(model, of_queries, ["q", "k", "v"])) {
    const queries = overlaps_of(report, row, model.hidden_size);
    const joint = (["k", "v"] as const).map((matrix) => {
      const other = rows_of(report, "overlap", model.name).find((each) => each.layer === row.layer && each.matrix === matrix);
      return other && overlaps_of(report, other, model.hidden_size);
    });
    for (const { a, b, overlap, chance } of queries) {
      // Query heads of one group share a KV head, so their keys and values are identical.
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
      "Heads ",
      ...head_words({ layer: best.layer, head: best.a }),
      " and ",
      ...head_words({ layer: best.layer, head: best.b }),
      " read from nearly the same subspaces. Their query, key and value subspaces each overlap at least this much (identical: 1, random: ",
      strong(figure(Number(best.chance.toPrecision(2)))),
      more > 0
        ? `). ${more} more such ${more === 1 ? "pair" : "pairs"} in ` +
          `${layers_words([...new Set(pairs.map((pair) => pair.layer))].sort((a, b) => a - b))}.`
        : ").",
    ],
    distance: (best.overlap - best.chance) / (1 - best.chance),
    see: { view: "similarity", state: { l: best.layer, h: best.a, matrix: "q" } },
  };
};
