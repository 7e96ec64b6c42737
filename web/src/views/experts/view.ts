// Mixture-of-experts models: load, rank, similarity and coactivation of experts.
import type { Chart } from "../../chart/chart";
import { matrix_words } from "../../chart/rich_text";
import { rows_of } from "../../data/report";
import type { Matrix } from "../../data/report_file";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { absent_analysis, choice, controls, uniform_row, section, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import type { Reading } from "../../shaping/reading";
import { choice_param, index_param } from "../../shaping/state";
import {
  balance_chart,
  expert_matrices,
  kMostPairs,
  load_chart,
  rank_chart,
  routing_rows,
  similarity_chart,
  space_chart,
  together_chart,
} from "./charts";

const charts = (reading: Reading): Chart[] =>
  [
    load_chart(reading),
    ...expert_matrices(reading).map((matrix) => rank_chart(reading, matrix)),
    space_chart(reading),
    similarity_chart(reading),
    balance_chart(reading),
    ...routing_rows(reading).map(({ layer }) => together_chart(reading, layer)),
  ].flatMap((chart) => chart ?? []);

function load_and_rank(context: Context): HTMLElement {
  const matrices = expert_matrices(context);
  const matrix = choice_param(context.state, "matrix", (matrices.length > 0 ? matrices : ["gate"]) as [Matrix, ...Matrix[]]);
  const [load, rank] = [load_chart(context), rank_chart(context, matrix)];
  return section(
    "Load and rank",
    "Rows: layers; columns: experts. Select a layer in the load chart to see its coactivation below.",
    controls(
      choice(
        "matrix",
        matrices.map((each) => ({ value: each, label: matrix_words(each) })),
        matrix,
        (value) => context.go({ matrix: value }),
      ),
    ),
    uniform_row(
      context,
      420,
      load
        ? chart_frame(load, context.theme, { on_choose: ({ row }) => context.go({ l: routing_rows(context)[row]?.layer ?? 0 }) })
        : absent_analysis(context, "load of each expert", "routing"),
      rank ? chart_frame(rank, context.theme) : absent_analysis(context, "energy rank of each expert", "expert_spectra"),
    ),
  );
}

function shared(context: Context): HTMLElement {
  const found = [space_chart(context), similarity_chart(context)].flatMap((chart) => chart ?? []);
  return section(
    "Similarity",
    null,
    ...(found.length > 0
      ? found.map((chart) => chart_frame(chart, context.theme))
      : [absent_analysis(context, "similarity of experts", "experts")]),
  );
}

function routing(context: Context): HTMLElement | null {
  const rows = routing_rows(context);
  const [first] = rows;
  if (!first) return null;
  const layer = index_param(context.state, "l", context.model.layers) ?? first.layer;
  const [balance, together] = [balance_chart(context), together_chart(context, layer)];
  const why =
    first.experts_per_token < 2
      ? "Each token is routed to one expert, so there is no coactivation."
      : first.experts > kMostPairs
        ? `Too many pairs of ${first.experts} experts to show. The Data view lists the strongest pair of each layer.`
        : `Layer ${layer} has no experts.`;
  return section(
    "Routing",
    null,
    uniform_row(
      context,
      420,
      balance ? chart_frame(balance, context.theme) : null,
      together ? chart_frame(together, context.theme) : h("p", { class: "absent" }, why),
    ),
  );
}

function draw(context: Context): HTMLElement {
  const { report, model } = context;
  const none = rows_of(report, "experts", model.name).length === 0 && model.experts === undefined;
  return h(
    "div",
    {},
    h("div", { class: "view-head" }, h("h1", { class: "view" }, "Experts")),
    skipped_lines(context, "experts", "expert_spectra", "routing"),
    ...(none
      ? [h("p", { class: "absent" }, `${model.name} has no experts.`)]
      : [load_and_rank(context), shared(context), routing(context)]),
  );
}

export const experts_view: View = {
  id: "experts",
  title: "Experts",
  named: (report) => report.file.models.some((model) => model.experts !== undefined),
  charts,
  draw,
};
