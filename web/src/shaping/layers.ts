// The layers that a view shows, stored in the address.
import { layers_of } from "../data/report";
import type { Reading } from "./reading";
import { list_param } from "./state";

type Id = Parameters<typeof layers_of>[1];

/** All layers if there are at most 8, otherwise the first and last four. */
export const usual_layers = (all: readonly number[]): readonly number[] => (all.length <= 8 ? all : [...all.slice(0, 4), ...all.slice(-4)]);

/** Layers in the address, otherwise the default selection from the layers of the analysis. */
export function chosen_layers({ report, state, model }: Pick<Reading, "report" | "state" | "model">, id: Id): readonly number[] {
  const layers = list_param(state, "layers")
    ?.map(Number)
    .filter((layer) => Number.isInteger(layer) && layer >= 0 && layer < model.layers);
  return layers ?? usual_layers(layers_of(report, id, model.name));
}
