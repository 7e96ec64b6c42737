// Buttons that select the layers of a view.
import { chosen_layers } from "../shaping/layers";
import { h } from "./elements";
import { chips } from "./view_parts";
import type { Context } from "./view";

/** One button per layer. Deep models also have a button for all layers and one for the default selection. */
export function layer_chips(context: Context, id: Parameters<typeof chosen_layers>[1]): HTMLElement {
  const { layers } = context.model;
  const all = Array.from({ length: layers }, (_, layer) => String(layer));
  const group = chips(
    "Layers",
    all.map((layer) => ({ value: layer, label: layer })),
    new Set(chosen_layers(context, id).map(String)),
    (values) => context.go({ layers: values.join(",") }),
  );
  if (layers > 8)
    group.append(
      h("button", { type: "button", onclick: () => context.go({ layers: all.join(",") }) }, "all"),
      h("button", { type: "button", title: "first and last four layers", onclick: () => context.go({ layers: null }) }, "ends"),
    );
  return group;
}
