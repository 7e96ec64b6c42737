// Which layers a view shows, kept in the address.
import { h } from "../page/h";
import { chips } from "../page/parts";
import { list_param } from "../page/state";
import type { Context, Reading } from "../page/view";

/** All layers of up to eight, else the first and last four. */
export function usual_layers(layers: number): number[] {
  const all = Array.from({ length: layers }, (_, layer) => layer);
  return layers <= 8 ? all : [...all.slice(0, 4), ...all.slice(-4)];
}

export function chosen_layers({ state, model }: Pick<Reading, "state" | "model">): number[] {
  const layers = list_param(state, "layers")?.map(Number).filter((layer) => Number.isInteger(layer) && layer >= 0 && layer < model.layers);
  return layers ?? usual_layers(model.layers);
}

/** A button a layer; in deep models also one for all and one for the usual ones. */
export function layer_chips(context: Context): HTMLElement {
  const { layers } = context.model;
  const all = Array.from({ length: layers }, (_, layer) => String(layer));
  const group = chips("Layers", all.map((layer) => ({ value: layer, label: layer })), new Set(chosen_layers(context).map(String)),
    (values) => context.go({ layers: values.join(",") }));
  if (layers > 8)
    group.append(
      h("button", { type: "button", onclick: () => context.go({ layers: all.join(",") }) }, "all"),
      h("button", { type: "button", title: "the first and last four", onclick: () => context.go({ layers: null }) }, "ends"));
  return group;
}
