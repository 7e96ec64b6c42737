// Two heads of a layer that read much of one space in one projection, short of reading nearly the same.
import { matrix_words } from "../chart/rich_text";
import { largest, largest_by_layer } from "../data/numbers";
import { rows_of } from "../data/report";
import { distinct } from "../data/shared_weights";
import { strong } from "../shaping/shared_words";
import { overlaps_of } from "../shaping/subspace_overlaps";
import { kDuplicate } from "./duplicate_heads";
import { between, type Claim, figure, type Kind } from "./finding";

const kLeast = 0.25;

export const claim: Claim = {
  sentence: "`is the most that two heads share of their … space`",
  guard: `${kLeast} of the way from chance to equal, where chance gives 0.5 at most`,
  chance: "overlap of random spaces of those ranks",
  experiment: "random models; a head that reads three quarters of another's space",
  result: "silent; found",
};

export const overlapping_heads: Kind = ({ report, model }) => {
  const pairs = rows_of(report, "overlap", model.name).flatMap((row) =>
    overlaps_of(report, row, model.width).map((pair) => ({
      ...pair,
      layer: row.layer,
      matrix: row.matrix,
      distance: between(pair.chance, pair.overlap, 1),
    })),
  );
  const apart = pairs.filter((pair) => pair.overlap < kDuplicate);
  // The sentence calls it the most that two heads of a projection share.
  const most = [...new Set(apart.map((pair) => pair.matrix))].flatMap(
    (matrix) =>
      largest(
        apart.filter((pair) => pair.matrix === matrix),
        (pair) => pair.overlap,
      )?.row ?? [],
  );
  const best = most.filter((pair) => pair.chance <= 0.5).sort((a, b) => b.distance - a.distance)[0];
  if (!best || best.distance < kLeast) return undefined;
  const alike = pairs.filter((pair) => pair.matrix === best.matrix);
  const whose = best.matrix === "k" ? "key heads" : best.matrix === "v" ? "value heads" : "heads";
  const grouped = model.kv_heads !== model.heads;
  const duplicates = distinct(model, pairs).filter((pair) => pair.matrix === best.matrix && pair.overlap >= kDuplicate).length;
  return {
    kind: "shared_space",
    figure: figure(best.overlap),
    unit: "overlap",
    words: [
      duplicates > 0
        ? `is what, but for ${duplicates} ${duplicates === 1 ? "pair that shares" : "pairs that share"} nearly all, `
        : "is the most that ",
      `two ${grouped ? whose : "heads"} share of their `,
      ...[matrix_words(best.matrix)].flat(),
      " space",
      duplicates > 0 ? " at most" : "",
      ": ",
      strong(best.a),
      " and ",
      strong(best.b),
      " of layer ",
      strong(best.layer),
      ". Chance is ",
      strong(figure(Number(best.chance.toPrecision(2)))),
      ", equal spaces have 1.",
    ],
    spark: {
      values: largest_by_layer(model.layers, alike, (pair) => pair.overlap),
      null_values: best.chance,
      colour: { role: best.matrix },
    },
    distance: best.distance,
    see: { view: "similarity", state: { l: best.layer, h: best.a, matrix: best.matrix } },
  };
};
