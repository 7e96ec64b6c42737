// The change of each matrix from a base model, and the size of a LoRA adapter that approximates it.
import { count_words, format_number } from "../../chart/number_format";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { absent_analysis, command_words, uniform_row, section, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import { commands_in } from "../../shaping/commands";
import { adapter_parameters, diff_rows, whole_parameters } from "../../shaping/adapter_size";
import { threshold_words } from "../../shaping/shared_words";
import {
  adapter_thresholds,
  base_ranks,
  change_by_layer,
  change_ranks,
  change_sizes,
  difference_charts,
  output_overlap,
  spectra_of_change,
} from "./charts";

function adapter(context: Context): HTMLElement | null {
  const rows = diff_rows(context);
  const whole = whole_parameters(rows);
  const changed = rows.some((row) => row.change_norm > 0);
  const again = context.report.file.reports.find((each) => each.id === "diff" && each.model === context.model.name)?.again;
  if (whole === 0 || !changed) return null;
  return section(
    "As a LoRA adapter",
    "Low-rank factors that keep this fraction of the energy of every change. The base model is still needed; only the download is smaller.",
    h(
      "div",
      { class: "table-wrap", tabindex: 0, role: "region", "aria-label": "adapter sizes" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["energy of the change", "parameters", "relative size"].map((name) => h("th", { scope: "col", class: "plain-head" }, name)),
          ),
        ),
        h(
          "tbody",
          {},
          adapter_thresholds(rows).map((threshold) => {
            const parameters = adapter_parameters(rows, (row) => row.energy_rank[threshold]);
            return h(
              "tr",
              {},
              [threshold_words(Number(threshold)), count_words(parameters), format_number(parameters / whole, "percent")].map((cell) =>
                h("td", {}, cell),
              ),
            );
          }),
        ),
      ),
    ),
    again
      ? h(
          "div",
          { class: "absent" },
          h("p", {}, "To write the adapter, run:"),
          command_words(`${commands_in(again)[0] ?? ""} --lora adapter`),
        )
      : null,
  );
}

const kGrids = "Heatmaps: rows are layers, columns are matrices.";

function draw(context: Context): HTMLElement {
  const frame = (chart: ReturnType<typeof difference_charts>[number] | undefined) => (chart ? chart_frame(chart, context.theme) : null);
  const rows = diff_rows(context);
  const [spectra, outputs] = [spectra_of_change(context), output_overlap(context)];
  return h(
    "div",
    {},
    h(
      "div",
      { class: "view-head" },
      h(
        "div",
        {},
        h("h1", { class: "view" }, "Difference"),
        h("p", { class: "note" }, "Change of each matrix: the model's weights minus those of its base model."),
      ),
    ),
    skipped_lines(context, "diff"),
    ...(rows.length === 0
      ? [absent_analysis(context, "change from a base model", "diff")]
      : [
          section("Size of the change", kGrids, uniform_row(context, 420, frame(change_sizes(context)), frame(change_by_layer(context)))),
          section("Ranks", kGrids, uniform_row(context, 420, frame(change_ranks(context)), frame(base_ranks(context)))),
          spectra ? section("Spectra", null, chart_frame(spectra, context.theme)) : null,
          outputs ? section("Output subspaces", kGrids, chart_frame(outputs, context.theme)) : null,
          adapter(context),
        ]),
  );
}

export const difference_view: View = {
  id: "difference",
  title: "Difference",
  named: (report) => report.file.reports.some(({ id }) => id === "diff") || report.file.skipped.some(({ part }) => part === "diff"),
  charts: difference_charts,
  draw,
};
