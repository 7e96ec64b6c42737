// What matters: what parts of the model are worth to the loss on the text, and what each layer would foretell.
import { rows_of } from "../../data/report";
import { chart_frame } from "../../page/frame";
import { h } from "../../page/h";
import { absent_analysis, skipped_lines } from "../../page/parts";
import type { Context, View } from "../../page/view";
import { chosen_head } from "../../shaping/head_grid";
import { claim_chart, heads_chart, layers_chart, lens_chart, matters_charts } from "./charts";

function draw(context: Context): HTMLElement {
  const { report, model, theme } = context;
  const place = chosen_head(context);
  const [worth] = rows_of(report, "ablate", model.name);
  const heads = heads_chart(context, place);
  const layers = layers_chart(context);
  const claim = claim_chart(context, place);
  const lens = lens_chart(context);
  const head_link = h("a", { href: context.link({ l: place.layer, h: place.head }, "heads") }, `Layer ${place.layer} head ${place.head} →`);
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
                `${worth.predicted.toLocaleString("en")} tokens. Parts do not add up: a layer's attention may be worth more than its heads.`
            : "Parts are replaced while the model runs, each alone.",
        ),
      ),
    ),
    skipped_lines(context, "ablate", "lens"),
    heads
      ? chart_frame(heads, theme, { level: 2, on_choose: ({ row, column }) => context.go({ l: row, h: column }) })
      : layers
        ? null
        : absent_analysis(context, "What the parts of the model are worth", "ablate"),
    heads ? h("p", {}, head_link) : null,
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
  );
}

export const matters_view: View = { id: "matters", title: "What matters", charts: matters_charts, draw };
