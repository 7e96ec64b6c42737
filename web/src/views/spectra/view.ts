import type { Chart } from "../../chart/chart";
import { matrices_of, rows_of } from "../../data/report";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { layer_chips } from "../../page/layer_chips";
import { absent_analysis, choice, controls, section, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import type { Reading } from "../../shaping/reading";
import { kQuantities } from "../../shaping/spectrum_quantity";
import { hidden_at_first, spectra_axes, spectra_chart, spectra_choice, type SpectraChoice } from "./charts";
import { components_chart } from "./energy_ranks";
import { mla_chart } from "./kv_latent";

function charts(reading: Reading): Chart[] {
  const latent = [mla_chart(reading) ?? []].flat();
  if (rows_of(reading.report, "spectrum", reading.model.name).length === 0) return latent;
  const chosen = spectra_choice(reading);
  return [
    ...kQuantities.flatMap((quantity) => {
      const usual = { ...spectra_choice({ ...reading, state: { view: "", params: { show: quantity } } }), layers: chosen.layers };
      return [spectra_chart(reading, { ...usual, by: "layer" }), spectra_chart(reading, { ...usual, by: "matrix" })];
    }),
    components_chart(reading),
    ...latent,
  ];
}

function pickers(context: Context, chosen: SpectraChoice): HTMLElement {
  const scales = (axis: "x" | "y") => [
    { value: "log", label: `log ${axis}` },
    { value: "linear", label: "linear" },
  ];
  return h(
    "div",
    {},
    controls(
      choice(
        "quantity",
        [
          { value: "values", label: "Singular values" },
          { value: "null", label: "Relative to random" },
          { value: "energy", label: "Cumulative energy" },
        ],
        chosen.quantity,
        (show) => context.go({ show }),
      ),
      choice(
        "panels",
        [
          { value: "layer", label: "By layer" },
          { value: "matrix", label: "By matrix" },
        ],
        chosen.by,
        (by) => context.go({ by }),
      ),
      chosen.quantity === "energy" ? null : choice("vertical axis", scales("y"), chosen.log_y ? "log" : "linear", (y) => context.go({ y })),
      choice("horizontal axis", scales("x"), chosen.log_x ? "log" : "linear", (x) => context.go({ x })),
      head_select(context, chosen),
    ),
    controls(layer_chips(context, "spectrum")),
  );
}

function head_select(context: Context, chosen: SpectraChoice): HTMLElement | null {
  const with_heads = rows_of(context.report, "spectrum", context.model.name).some((row) => row.head !== null);
  if (!with_heads) return null;
  const heads = Array.from({ length: context.model.heads }, (_, head) =>
    h("option", { value: head, selected: head === chosen.head }, `head ${head}`),
  );
  return h(
    "select",
    { "aria-label": "head", onchange: (event: Event) => context.go({ head: (event.target as HTMLSelectElement).value || null }) },
    h("option", { value: "", selected: chosen.head === null }, "whole layers"),
    heads,
  );
}

function draw(context: Context): HTMLElement {
  const { report, model, theme } = context;
  const head = h("div", { class: "view-head" }, h("h1", { class: "view" }, "Spectra"));
  const rows = rows_of(report, "spectrum", model.name);
  if (rows.length === 0)
    return h("div", {}, head, skipped_lines(context, "spectrum"), absent_analysis(context, "spectra of this model", "spectrum"));

  const chosen = spectra_choice(context);
  const fit = (chart: Chart): Chart => (chart.kind === "lines" ? { ...chart, ...spectra_axes(chosen, chart.panels) } : chart);
  const off = chosen.by === "layer" && chosen.head === null ? hidden_at_first(matrices_of(report, "spectrum", model.name)) : [];
  const spectra = !rows.some((row) => row.singular_values)
    ? absent_analysis(context, "singular values", "spectrum")
    : chosen.layers.length === 0
      ? h("p", { class: "note" }, "No layer is selected.")
      : chart_frame(spectra_chart(context, chosen), theme, { level: 2, off, fit });
  const latent = mla_chart(context);
  return h(
    "div",
    {},
    head,
    skipped_lines(context, "spectrum"),
    pickers(context, chosen),
    spectra,
    section("Energy ranks", null, chart_frame(components_chart(context), theme)),
    latent ? section("Low-rank latents", null, chart_frame(latent, theme)) : null,
  );
}

export const spectra_view: View = { id: "spectra", title: "Spectra", charts, draw };
