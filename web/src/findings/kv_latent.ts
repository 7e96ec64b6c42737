// What a joint key–value latent would keep of the weights.
import { kept_energy } from "../data/kv_latent";
import { rows_of } from "../data/report";
import type { MlaRow } from "../data/report_file";
import { strong } from "../shaping/shared_words";
import { at_least_percent, between, type Claim, type Kind, small_percent } from "./finding";

const kLeast = 0.05;

export const claim: Claim = {
  sentence: "`… energy kept is the least that a joint key–value latent would keep`",
  guard: `${kLeast} above random, in the worst layer`,
  chance: "random numbers",
  experiment: "energy by another decomposition; random models; keys and values that read one small space",
  result: "equal; silent; found",
};

export const kv_latent: Kind = ({ report, model }) => {
  const rows = rows_of(report, "mla", model.name);
  const known = rows.flatMap((row: MlaRow) => {
    const side = kept_energy(row.kv);
    return side ? [{ layer: row.layer, ...side }] : [];
  });
  const least = [...known].sort((a, b) => a.energy - b.energy)[0];
  // The sentence speaks of all layers: the worst of them has to stand out, and all have to be of one latent.
  if (!least || known.length < rows.length || known.some((each) => each.rank !== least.rank) || least.energy - least.random_energy < kLeast)
    return undefined;
  const by_layer = (value: (each: (typeof known)[number]) => number) =>
    Array.from({ length: model.layers }, (_, layer) => {
      const there = known.find((each) => each.layer === layer);
      return there ? value(there) : null;
    });
  return {
    kind: "latent",
    figure: at_least_percent(least.energy),
    unit: "energy kept",
    words: [
      "is the least that a joint key–value latent of ",
      strong(least.rank),
      " would keep, in layer ",
      strong(least.layer),
      ". Of random numbers it would keep ",
      strong(small_percent(least.random_energy)),
      ".",
    ],
    spark: { values: by_layer((each) => each.energy), null_values: by_layer((each) => each.random_energy), colour: { role: "kv" } },
    distance: between(least.random_energy, least.energy, 1),
    see: { view: "spectra", state: { l: least.layer, h: null, show: "energy", by: "matrix" } },
  };
};
