import type { Chart } from "../../chart/chart";
import { bytes_words, counted } from "../../chart/number_format";
import { rows_of, tokens_of } from "../../data/report";
import { live_panel } from "../../live/panel";
import { live_map } from "../../live/raw_maps";
import { chart_frame } from "../../page/frame";
import { h } from "../../page/h";
import { absent, absent_analysis, absent_maps, choice, controls, row, section, skipped_lines } from "../../page/parts";
import type { Context, View } from "../../page/view";
import { is_whole, stored_map, without_first_key } from "../../shaping/head_maps";
import type { Reading } from "../../shaping/reading";
import { index_param } from "../../shaping/state";
import { text_facts } from "../../shaping/texts";
import { collapsed_words } from "../../shaping/words";
import {
  attention_choice,
  head_facts,
  layer_rows,
  map_chart,
  max_rank_chart,
  profile_chart,
  row_of_head,
  wall_chart,
  type AttentionChoice,
} from "./charts";
import { large_map } from "./map_panel";
import { make_pointing } from "./pointing";
import { text_heatmaps } from "./text_heatmaps";
import { text_panel } from "./text_panel";
import { window_param, window_text } from "./window";

function charts(reading: Reading): Chart[] {
  const choice = attention_choice(reading);
  const map = stored_map(reading.report, reading.model.name, choice.place);
  const wall = wall_chart(reading, choice);
  const all = [
    wall.maps.length > 0 ? wall : undefined,
    map && map_chart(reading, choice, map),
    profile_chart(reading, choice),
    max_rank_chart(reading, choice),
    ...text_heatmaps(reading, choice),
  ];
  return all.filter((chart) => chart !== undefined);
}

function draw(context: Context): HTMLElement {
  const { report, model } = context;
  const chosen = attention_choice(context);
  const wall = wall_chart(context, chosen);
  const { length, sequences } = text_facts(context);
  const of_texts = sequences > 1 ? `; figures are means over ${sequences} texts, maps are of the first` : "";
  const head = h(
    "div",
    { class: "view-head" },
    h(
      "div",
      {},
      h("h1", { class: "view" }, "Attention"),
      length > 0
        ? h(
            "p",
            { class: "note" },
            `${counted(wall.maps.length > 0 ? tokens_of(report, model.name).length || length : length, "token")}, ` +
              `${model.layers} × ${model.heads} heads${of_texts}.`,
          )
        : null,
    ),
    controls(
      choice(
        "colour",
        [
          { value: "log", label: "Log colour" },
          { value: "sqrt", label: "Square root" },
        ],
        chosen.colour,
        (c) => context.go({ c }),
      ),
      choice(
        "keys",
        [
          { value: "all", label: "All keys" },
          { value: "others", label: "Without the first" },
        ],
        chosen.without_first ? "others" : "all",
        (keys) => context.go({ keys }),
      ),
    ),
  );
  return h(
    "div",
    {},
    head,
    live_panel(context),
    skipped_lines(context, "attention", "induction"),
    wall.maps.length > 0 ? maps(context, chosen) : no_maps(context),
    ranks(context, chosen),
    on_text(context, chosen),
  );
}

const no_maps = (context: Context): HTMLElement =>
  context.report.live ? h("div", { class: "absent" }, h("p", {}, "There are no maps yet: run a text.")) : absent_maps(context);

function maps(context: Context, chosen: AttentionChoice): HTMLElement {
  const { report, model, theme } = context;
  const { place } = chosen;
  const stored = stored_map(report, model.name, place);
  const fetched = !stored || !is_whole(stored) ? live_map(context, place) : undefined;
  const map = fetched?.map ?? stored;
  const wall = chart_frame(wall_chart(context, chosen), theme, {
    level: 2,
    on_choose: ({ row: layer, column }) => context.go({ l: layer, h: column, z: null }),
  });
  const grid = (...parts: (Node | null)[]) => h("div", { class: "attention" }, h("div", { class: "attention-wall" }, wall), parts);
  if (!map)
    return grid(
      h(
        "div",
        { class: "attention-map" },
        h("h2", {}, `Layer ${place.layer} · head ${place.head}`),
        fetched?.said ?? whole_map_command(context, chosen, "The map of this head"),
      ),
    );

  const texts = tokens_of(report, model.name).map((token) => token.text);
  const with_text = is_whole(map) && texts.length === map.side;
  const pointing = make_pointing(index_param(context.state, "q", map.side), (query) => context.note({ q: query ?? null }));
  const chart = map_chart(context, chosen, map);
  const frame = large_map({
    chart,
    theme,
    pointing,
    window: window_param(context.state, map.side),
    facts: facts(context, chosen),
    on_window: (window) => context.note({ z: window_text(window, map.side) }),
  });
  const shown = chosen.without_first ? without_first_key(map) : map;
  return grid(
    h("div", { class: "attention-text" }, with_text ? text_panel(texts, shown, chosen.colour, theme, pointing) : null),
    h(
      "div",
      { class: "attention-map" },
      frame,
      fetched?.said ?? null,
      is_whole(map)
        ? null
        : whole_map_command(
            context,
            chosen,
            `Each cell is the largest of ${Math.round((map.tokens / map.side) ** 2)} weights; the whole map`,
          ),
    ),
  );
}

/** A head's figures on the text. */
function facts(context: Context, chosen: AttentionChoice): HTMLElement | null {
  const found = row_of_head(context, chosen);
  return found
    ? h(
        "p",
        { class: "head-facts" },
        head_facts(found).map(({ value, label }) => h("span", {}, h("b", {}, value), ` ${label}`)),
      )
    : null;
}

function whole_map_command(context: Context, { place }: AttentionChoice, what: string): HTMLElement {
  const bytes = text_facts(context).length ** 2;
  const size = bytes > 0 ? ` (about ${bytes_words(bytes)})` : "";
  return absent(`${what}${size}`, `${context.report.file.command.replace(/ --maps \S+/, "")} --maps ${place.layer},${place.head}`);
}

function ranks(context: Context, chosen: AttentionChoice): HTMLElement | null {
  const [profile, max_rank] = [profile_chart(context, chosen), max_rank_chart(context, chosen)];
  const title = "Rank of the maps";
  // A served page that has run no text yet says so above.
  if (!profile && !max_rank && context.report.live && !chosen.without_first) return null;
  if (!profile && !max_rank)
    return section(
      title,
      null,
      absent_analysis(context, "The rank of attention maps", chosen.without_first ? "attention_without_first" : "attention"),
    );
  const { energy, sequences } = text_facts(context);
  const collapsed = collapsed_words(context.report, layer_rows(context, chosen));
  const note =
    `Directions, and columns, that hold ${Math.round(energy * 100)}\u202f% of the energy${chosen.without_first ? ", without key 0" : ""}.` +
    `${sequences > 1 ? " Bars are standard errors over the texts." : ""}${collapsed ? ` ${collapsed}` : ""}`;
  return section(
    title,
    note,
    row(460, profile ? chart_frame(profile, context.theme) : null, max_rank ? chart_frame(max_rank, context.theme) : null),
  );
}

function on_text(context: Context, chosen: AttentionChoice): HTMLElement | null {
  const charts = text_heatmaps(context, chosen);
  const induction =
    rows_of(context.report, "induction", context.model.name).length > 0
      ? null
      : absent_analysis(context, "Induction, on repeated tokens,", "induction");
  if (charts.length === 0) return induction;
  const frames = charts.map((chart) =>
    chart_frame(chart, context.theme, { on_choose: ({ row: layer, column }) => context.go({ l: layer, h: column, z: null }) }),
  );
  return section(
    "What heads do on this text",
    "Means over queries. Shares are coloured by their square roots, so that small ones show. Choose a cell to see its map above.",
    row(context.model.heads > 16 ? 460 : 250, ...frames),
    induction ? h("div", { class: "below" }, induction) : null,
  );
}

export const attention_view: View = { id: "attention", title: "Attention", charts, draw };
