// Importance: ablation effects on the loss, and the logit lens.
import { head_name } from "../../chart/rich_text";
import { rows_of } from "../../data/report";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { absent_analysis, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import { live_panel } from "../../live/run_panel";
import { directions_part } from "../../page/direction_lists";
import { head_map } from "../../page/head_map";
import { attention_heads, chosen_head, type HeadIndex } from "../../shaping/head_grid";
import {
  ablation_charts,
  copying_effect_chart,
  cumulative_chart,
  heads_chart,
  layers_chart,
  lens_chart,
  lens_grid_chart,
  pairs_chart,
} from "./charts";

/** Details of the selected head: effects, attention map, singular vectors. */
function head_part(context: Context, place: HeadIndex): HTMLElement {
  const { report, model } = context;
  const is_here = (row: { layer: number; head: number | null }) => row.layer === place.layer && row.head === place.head;
  const ablated = rows_of(report, "ablate", model.name).find((row) => row.component === "head" && is_here(row));
  const effect = attention_heads(report, model.name).find(is_here);
  const with_error = (value: number, error: number | null, digits: number) =>
    `${value < 0 ? "\u2212" : "+"}${Math.abs(value).toFixed(digits)}${error === null ? "" : ` ±${error.toFixed(digits)}`}`;
  return h(
    "aside",
    { class: "heads-detail ablation-head", "aria-label": head_name(place) },
    h("h2", {}, head_name(place)),
    ablated ? h("p", {}, `Loss increase when ablated: ${with_error(ablated.loss_increase, ablated.loss_increase_error, 3)} nats.`) : null,
    typeof effect?.attended_token_effect === "number"
      ? h(
          "p",
          {},
          "Direct effect on the attended token's logit: " +
            `${with_error(effect.attended_token_effect, effect.attended_token_effect_error ?? null, 2)}, relative to the mean over ` +
            "the text's tokens.",
        )
      : null,
    head_map(context, place) ?? null,
    directions_part(context, place),
    h("p", {}, h("a", { href: context.link({ l: place.layer, h: place.head }, "heads") }, "Compare with all heads →")),
  );
}

function draw(context: Context): HTMLElement {
  const { report, model, theme } = context;
  const place = chosen_head(context);
  const [first] = rows_of(report, "ablate", model.name);
  const heads = heads_chart(context, place);
  const layers = layers_chart(context);
  const cumulative = cumulative_chart(context);
  const pairs = pairs_chart(context);
  const claim = copying_effect_chart(context, place);
  const lens = lens_chart(context);
  const grid = lens_grid_chart(context);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "view-head" },
      h(
        "div",
        {},
        h("h1", { class: "view" }, "Importance"),
        h(
          "p",
          { class: "note" },
          first
            ? `Each component is mean-ablated separately. Baseline loss: ${first.loss.toFixed(3)} nats over ` +
                `${first.predicted.toLocaleString("en")} tokens. Effects are not additive.` +
                (first.loss_increase_error === null ? " One window: no standard errors, so small differences may be noise." : "")
            : "Each component is mean-ablated separately.",
        ),
      ),
    ),
    live_panel(context),
    skipped_lines(context, "ablate", "lens"),
    heads
      ? chart_frame(heads, theme, {
          level: 2,
          on_choose: ({ row, column }) => {
            if (column < model.heads) context.go({ l: row, h: column }); // the last column may be mixers
          },
        })
      : absent_analysis(context, layers ? "ablation effect of each head" : "ablation effects", "ablate"),
    heads ? head_part(context, place) : null,
    layers ? chart_frame(layers, theme, { level: 2 }) : null,
    cumulative ? chart_frame(cumulative, theme, { level: 2 }) : null,
    pairs ? chart_frame(pairs, theme, { level: 2 }) : null,
    claim
      ? chart_frame(claim, theme, {
          level: 2,
          on_point: (index) => {
            const found = claim.points[index]?.place;
            if (found) context.go({ l: found.layer, h: found.head });
          },
        })
      : null,
    lens ? chart_frame(lens, theme, { level: 2 }) : absent_analysis(context, "logit lens", "lens"),
    grid ? chart_frame(grid, theme) : null,
  );
}

export const ablation_view: View = { id: "ablation", title: "Importance", charts: ablation_charts, draw };
