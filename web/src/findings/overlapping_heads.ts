// Two heads of a layer whose input subspaces overlap strongly in one projection, but are not near-duplicates.
import { matrix_words } from "../chart/rich_text";
import { largest, largest_by_layer } from "../data/numbers";
import { rows_of } from "../data/report";
import { distinct } from "../data/shared_weights";
import { head_words, strong } from "../shaping/shared_words";
import { overlaps_of } from "../shaping/subspace_overlaps";
import { kDuplicate } from "./duplicate_heads";
import { between, type Claim, figure, type Kind, percent } from "./finding";

const kLeast = 0.25;

export const claim: Claim = {
  sentence: "`… overlap between the … subspaces of two heads`",
  guard: `Let r be the overlap of random subspaces. The overlap exceeds r by at least ${percent(kLeast)} of 1 − r, and r is at most 0.5`,
  chance: "random subspaces of the same ranks",
  experiment: "random models; a planted head that shares three quarters of another head's subspace",
  result: "random models: not shown. Planted head: found",
};

export const overlapping_heads: Kind = ({ report, model }) => {
  const pairs = rows_of(report, "overlap", model.name).flatMap((row) =>
    overlaps_of(report, row, model.hidden_size).map((pair) => ({
      ...pair,
      layer: row.layer,
      matrix: row.matrix,
      distance: between(pair.chance, pair.overlap, 1),
    })),
  );
  const apart = pairs.filter((pair) => pair.overlap < kDuplicate);
  // The finding states the highest overlap of a projection.
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
  const shared = model.kv_heads !== model.heads && (best.matrix === "k" || best.matrix === "v");
  const duplicates = distinct(model, pairs).filter((pair) => pair.matrix === best.matrix && pair.overlap >= kDuplicate).length;
  return {
    kind: "overlapping_heads",
    figure: figure(best.overlap),
    unit: "overlap",
    words: [
      "between the ",
      ...[matrix_words(best.matrix)].flat(),
      " subspaces of ",
      ...(shared
        ? [`${best.matrix === "k" ? "key" : "value"} heads `, strong(best.a), " and ", strong(best.b), ` of layer ${best.layer}`]
        : [...head_words({ layer: best.layer, head: best.a }), " and ", ...head_words({ layer: best.layer, head: best.b })]),
      ", the highest of any pair",
      duplicates > 0 ? ` except ${duplicates} near-duplicate ${duplicates === 1 ? "pair" : "pairs"}` : "",
      " (random: ",
      strong(figure(Number(best.chance.toPrecision(2)))),
      ", identical: 1).",
    ],
    spark: {
      values: largest_by_layer(model.layers, alike, (pair) => pair.overlap),
      null_values: best.chance,
      color: { role: best.matrix },
    },
    distance: best.distance,
    see: { view: "similarity", state: { l: best.layer, h: best.a, matrix: best.matrix } },
  };
};
