import { head_name } from "../../chart/rich_text";
import { rows_of } from "../../data/report";
import { chart_frame } from "../../page/chart_frame";
import { directions_part } from "../../page/direction_lists";
import { head_map } from "../../page/head_map";
import { h } from "../../page/elements";
import { absent_analysis, choice, controls, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import { chosen_head, type HeadIndex } from "../../shaping/head_grid";
import { choice_param, index_param } from "../../shaping/state";
import { composition_chart, detail_chart, energy_chart, head_charts, head_heatmaps, kinds_chart, shares_keys_with } from "./charts";

function draw(context: Context): HTMLElement {
  const { report, model, theme } = context;
  const head = h(
    "div",
    { class: "view-head" },
    h(
      "div",
      {},
      h("h1", { class: "view" }, "Heads"),
      h("p", { class: "note" }, "Rows: layers; columns: heads. Arrow keys move, Enter or a click selects a head and shows its details."),
    ),
  );
  if (rows_of(report, "circuits", model.name).length === 0 && !rows_of(report, "spectrum", model.name).some((row) => row.head !== null))
    return h("div", {}, head, skipped_lines(context, "circuits"), absent_analysis(context, "circuits of heads", "circuits"));

  const place = chosen_head(context);
  const heatmaps = head_heatmaps(context, place);
  const used = index_param(context.state, "from", heatmaps.length) ?? 0;
  const choose = (from: number, to: HeadIndex) => context.go({ l: to.layer, h: to.head, from });
  const frames = heatmaps.map((chart, index) =>
    chart_frame(chart, theme, { level: 2, on_choose: ({ row, column }) => choose(index, { layer: row, head: column }) }),
  );
  // In a narrow window, the details open below the heatmap that was used.
  const grid = h(
    "div",
    { class: "heads" },
    frames.flatMap((frame, index) => (index === used ? [frame, detail(context, place)] : [frame])),
    kinds(context, place),
    composition(context, place),
  );
  return h("div", {}, head, skipped_lines(context, "circuits"), grid);
}

function detail(context: Context, place: HeadIndex): HTMLElement {
  const { theme } = context;
  const shared = shares_keys_with(context, place.head);
  const energy = energy_chart(context, place);
  const map = head_map(context, place);
  return h(
    "aside",
    { class: "heads-detail", "aria-label": head_name(place) },
    h("h2", {}, head_name(place)),
    shared
      ? h(
          "p",
          { class: "note" },
          `Shares KV head ${shared.group} with ${shared.heads.map((head) => head_name({ layer: place.layer, head })).join(", ")}.`,
        )
      : null,
    chart_frame(detail_chart(context, place), theme),
    energy ? chart_frame(energy, theme) : absent_analysis(context, "singular values of heads", "spectrum"),
    map ?? null,
    directions_part(context, place),
    map ? h("p", {}, h("a", { href: context.link({ l: place.layer, h: place.head }, "attention") }, "Show with tokens →")) : null,
  );
}

function kinds(context: Context, place: HeadIndex): HTMLElement | null {
  const chart = kinds_chart(context, place);
  if (!chart) return null;
  return h(
    "div",
    { class: "heads-kinds" },
    chart_frame(chart, context.theme, {
      level: 2,
      on_point: (index) => {
        const found = chart.points[index]?.place;
        if (found) context.go({ l: found.layer, h: found.head });
      },
    }),
  );
}

function composition(context: Context, place: HeadIndex): HTMLElement {
  const { report, model, theme } = context;
  if (rows_of(report, "composition", model.name).length === 0)
    return h("div", { class: "heads-kinds" }, absent_analysis(context, "composition of heads", "composition"));
  const around = choice_param(context.state, "pairs", ["all", "head"]);
  const chart = composition_chart(context, { pairs: 40, ...(around === "head" ? { around: place } : {}) }, place);
  const picks = controls(
    choice(
      "pairs",
      [
        { value: "all", label: "All heads" },
        { value: "head", label: `Pairs with ${head_name(place)}` },
      ],
      around,
      (pairs) => context.go({ pairs }),
    ),
  );
  if (!chart)
    return h(
      "div",
      { class: "heads-kinds" },
      h("h2", {}, "Composition of heads"),
      h("p", { class: "note" }, "No pair of heads is above random."),
    );
  const frame = chart_frame(chart, theme, {
    level: 2,
    after_draw: (svg) => {
      svg.addEventListener("click", (event) => {
        const { row, column } = (event.target as SVGElement).dataset;
        if (row !== undefined && column !== undefined) context.go({ l: row, h: column });
      });
    },
  });
  return h(
    "div",
    { class: "heads-kinds" },
    frame,
    picks,
    chart.edges.length === 0 ? h("p", { class: "note" }, `No pair with ${head_name(place)} is above random.`) : null,
  );
}

export const heads_view: View = { id: "heads", title: "Heads", charts: head_charts, draw };
