// What matters: what parts of the model are worth to the loss on the text, and what each layer would foretell.
import { map_places, rows_of } from "../../data/report";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { absent_analysis, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import { map_bytes, stored_shape } from "../../data/maps";
import { live_panel } from "../../live/run_panel";
import { directions_part } from "../../page/direction_lists";
import { attention_heads, chosen_head, head_title, type HeadIndex } from "../../shaping/head_grid";
import { copying_effect_chart, heads_chart, layers_chart, lens_chart, lens_grid_chart, ablation_charts } from "./charts";

/** What is known of the head that was chosen: what it is worth and raises, its map, its directions. */
function head_part(context: Context, place: HeadIndex): HTMLElement {
  const { report, model, theme } = context;
  const is_here = (row: { layer: number; head: number | null }) => row.layer === place.layer && row.head === place.head;
  const worth = rows_of(report, "ablate", model.name).find((row) => row.component === "head" && is_here(row));
  const raised = attention_heads(report, model.name).find(is_here);
  const map = map_places(report, model.name).find(is_here);
  const with_error = (value: number, error: number | null, digits: number) =>
    `${value < 0 ? "\u2212" : "+"}${Math.abs(value).toFixed(digits)}${error === null ? "" : ` ±${error.toFixed(digits)}`}`;
  return h(
    "aside",
    { class: "heads-detail matters-head", "aria-label": head_title(place) },
    h("h2", {}, head_title(place)),
    worth ? h("p", {}, `Without it the loss changes by ${with_error(worth.loss_increase, worth.loss_increase_error, 3)} nats.`) : null,
    typeof raised?.raises === "number"
      ? h(
          "p",
          {},
          `It adds ${with_error(raised.raises, raised.attended_token_effect_error ?? null, 2)} to the logits of the tokens that it reads, against the ` +
            "text’s mean token.",
        )
      : null,
    map
      ? chart_frame(
          { kind: "map", name: "head-map", title: "On the text", bytes: map_bytes(report, map), shape: stored_shape(map), colour: "log" },
          theme,
        )
      : null,
    directions_part(context, place),
    h("p", {}, h("a", { href: context.link({ l: place.layer, h: place.head }, "heads") }, "Its numbers among those of all heads →")),
  );
}

function draw(context: Context): HTMLElement {
  const { report, model, theme } = context;
  const place = chosen_head(context);
  const [worth] = rows_of(report, "ablate", model.name);
  const heads = heads_chart(context, place);
  const layers = layers_chart(context);
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
        h("h1", { class: "view" }, "What matters"),
        h(
          "p",
          { class: "note" },
          worth
            ? `Parts are replaced while the model runs, each alone. Its own loss here is ${worth.loss.toFixed(3)} nats, over ` +
                `${worth.predicted.toLocaleString("en")} tokens. Parts do not add up: a layer's attention may be worth more than ` +
                "its heads." +
                (worth.loss_increase_error === null ? " Of one window there are no errors: small differences may be chance." : "")
            : "Parts are replaced while the model runs, each alone.",
        ),
      ),
    ),
    live_panel(context),
    skipped_lines(context, "ablate", "lens"),
    heads
      ? chart_frame(heads, theme, { level: 2, on_choose: ({ row, column }) => context.go({ l: row, h: column }) })
      : absent_analysis(context, layers ? "What each head is worth" : "What the parts of the model are worth", "ablate"),
    heads ? head_part(context, place) : null,
    layers ? chart_frame(layers, theme, { level: 2 }) : null,
    claim
      ? chart_frame(claim, theme, {
          level: 2,
          on_point: (index) => {
            const found = claim.points[index]?.place;
            if (found) context.go({ l: found.layer, h: found.head });
          },
        })
      : null,
    lens ? chart_frame(lens, theme, { level: 2 }) : absent_analysis(context, "What each layer would foretell", "lens"),
    grid ? chart_frame(grid, theme) : null,
  );
}

export const ablation_view: View = { id: "matters", title: "What matters", charts: ablation_charts, draw };
