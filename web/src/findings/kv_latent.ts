// Energy of the key and value weights that a joint KV latent (MLA) would keep.
import { kept_energy } from "../data/kv_latent";
import { rows_of } from "../data/report";
import type { MlaRow } from "../data/report_file";
import { strong } from "../shaping/shared_words";
import { at_least_percent, between, type Claim, type Kind, small_percent } from "./finding";

const kLeast = 0.05;

export const claim: Claim = {
  sentence: "`… energy kept by a joint KV latent … in layer …, the worst layer`",
  guard:
    "In the layer where the latent keeps the smallest share of the energy, this share exceeds that for random matrices by at " +
    `least ${kLeast}`,
  chance: "random matrices of the same shapes",
  experiment: "the energy from another decomposition; random models; planted keys and values that read from one small subspace",
  result: "energy: equal. Random models: not shown. Planted subspace: found",
};

export const kv_latent: Kind = ({ report, model }) => {
  const rows = rows_of(report, "mla", model.name);
  const known = rows.flatMap((row: MlaRow) => {
    const side = kept_energy(row.kv);
    return side ? [{ layer: row.layer, ...side }] : [];
  });
  const least = [...known].sort((a, b) => a.energy - b.energy)[0];
  // The finding is about all layers: the worst one must be above the threshold, and all must have the same latent rank.
  if (!least || known.length < rows.length || known.some((each) => each.rank !== least.rank) || least.energy - least.random_energy < kLeast)
    return undefined;
  const by_layer = (value: (each: (typeof known)[number]) => number) =>
    Array.from({ length: model.layers }, (_, layer) => {
      const there = known.find((each) => each.layer === layer);
      return there ? value(there) : null;
    });
  return {
    kind: "kv_latent",
    figure: at_least_percent(least.energy),
    unit: "energy kept",
    words: [
      "by a joint KV latent of rank ",
      strong(least.rank),
      " in layer ",
      strong(least.layer),
      ", the worst layer (random: ",
      strong(small_percent(least.random_energy)),
      ").",
    ],
    spark: { values: by_layer((each) => each.energy), null_values: by_layer((each) => each.random_energy), color: { role: "kv" } },
    distance: between(least.random_energy, least.energy, 1),
    see: { view: "spectra", state: { l: least.layer, h: null, show: "energy", by: "matrix" } },
  };
};
