// Which layers a view shows, kept in the address.
import { layers_of } from "../data/report";
import { h } from "../page/h";
import { chips } from "../page/parts";
import { list_param } from "../page/state";
import type { Context, Reading } from "../page/view";

type Id = Parameters<typeof layers_of>[1];

/** All layers of up to eight, else the first and last four. */
export const usual_layers = (all: readonly number[]): readonly number[] => (all.length <= 8 ? all : [...all.slice(0, 4), ...all.slice(-4)]);

/** Those that the address names, else the usual ones of those that the analysis looked at. */
export function chosen_layers({ report, state, model }: Pick<Reading, "report" | "state" | "model">, id: Id): readonly number[] {
  const layers = list_param(state, "layers")?.map(Number).filter((layer) => Number.isInteger(layer) && layer >= 0 && layer < model.layers);
  return layers ?? usual_layers(layers_of(report, id, model.name));
}

/** A button a layer; in deep models also one for all and one for the usual ones. */
export function layer_chips(context: Context, id: Id): HTMLElement {
  const { layers } = context.model;
  const all = Array.from({ length: layers }, (_, layer) => String(layer));
  const group = chips("Layers", all.map((layer) => ({ value: layer, label: layer })), new Set(chosen_layers(context, id).map(String)),
    (values) => context.go({ layers: values.join(",") }));
  if (layers > 8)
    group.append(
      h("button", { type: "button", onclick: () => context.go({ layers: all.join(",") }) }, "all"),
      h("button", { type: "button", title: "the first and last four", onclick: () => context.go({ layers: null }) }, "ends"));
  return group;
}
