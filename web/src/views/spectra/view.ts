import { rows_of } from "../../data/report";
import { chart_frame } from "../../page/frame";
import { h } from "../../page/h";
import { absent_analysis, chips, choice, controls, section, skipped_lines } from "../../page/parts";
import type { Context, Reading, View } from "../../page/view";
import { components_chart, spectra_chart, spectra_choice, type Quantity } from "./charts";

const kQuantities: readonly Quantity[] = ["values", "null", "energy"];

function charts(reading: Reading) {
  if (rows_of(reading.report, "spectrum", reading.model.name).length === 0) return [];
  const chosen = spectra_choice(reading);
  return [...kQuantities.flatMap((quantity) => [
    spectra_chart(reading, { ...chosen, quantity, by: "layer" }), spectra_chart(reading, { ...chosen, quantity, by: "matrix" }),
  ]), components_chart(reading)];
}

function draw(context: Context): HTMLElement {
  const { report, model, theme } = context;
  const head = h("div", { class: "view-head" }, h("h1", { class: "view" }, "Spectra"));
  const rows = rows_of(report, "spectrum", model.name);
  if (rows.length === 0) return h("div", {}, head, absent_analysis("The spectra of this model", "spectrum"));

  const chosen = spectra_choice(context);
  const layers = Array.from({ length: model.layers }, (_, layer) => ({ value: String(layer), label: String(layer) }));
  const picks = controls(
    choice("quantity", [{ value: "values", label: "Singular values" }, { value: "null", label: "Against the null" }, { value: "energy", label: "Cumulative energy" }],
      chosen.quantity, (show) => context.go({ show })),
    choice("panels", [{ value: "layer", label: "By layer" }, { value: "matrix", label: "By matrix" }], chosen.by, (by) => context.go({ by })),
    chosen.quantity === "values" ? choice("vertical axis", [{ value: "log", label: "log y" }, { value: "linear", label: "linear" }], chosen.log_y ? "log" : "linear", (y) => context.go({ y })) : null,
    choice("horizontal axis", [{ value: "log", label: "log x" }, { value: "linear", label: "linear" }], chosen.log_x ? "log" : "linear", (x) => context.go({ x })),
    chips("Layers", layers, new Set(chosen.layers.map(String)), (values) => context.go({ layers: values.join(",") })));
  const with_values = rows.some((row) => row.singular_values);
  return h("div", {}, head, skipped_lines(context, "spectrum"), picks,
    with_values ? chart_frame(spectra_chart(context, chosen), theme, { level: 2 }) : absent_analysis("All singular values", "spectrum"),
    section("Components needed", null, chart_frame(components_chart(context), theme)));
}

export const spectra_view: View = { id: "spectra", title: "Spectra", charts, draw };
