import type { Chart } from "../../chart/chart";
import { bytes_words, counted } from "../../chart/number_format";
import { same_shape, tokens_shape } from "../../data/maps";
import { map_places, image_input, rows_of, audio_input, source_of, tokens_of, type ShownToken } from "../../data/report";
import { live_panel } from "../../live/run_panel";
import { live_map } from "../../live/served_maps";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { absent, absent_analysis, absent_maps, choice, controls, row, section, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import { is_whole, stored_map, exclude_first_token, type HeadMap } from "../../shaping/head_maps";
import type { Reading } from "../../shaping/reading";
import { stacks_of } from "../../shaping/stacks";
import { index_param } from "../../shaping/state";
import { text_facts } from "../../shaping/texts";
import { collapsed_words } from "../../shaping/shared_words";
import { axes_of, shape_of, type Axes } from "./axes";
import {
  attention_choice,
  head_facts,
  layer_rows,
  map_chart,
  max_rank_chart,
  profile_chart,
  row_of_head,
  map_grid_chart,
  type AttentionChoice,
} from "./charts";
import { large_map } from "./map_panel";
import { image_panel } from "./image_panel";
import { select_queries, type SelectedQuery } from "./selected_query";
import { image_patches_chart, audio_frames_chart } from "./media_charts";
import { audio_panel } from "./audio_panel";
import { text_heatmaps } from "./text_heatmaps";
import { text_panel } from "./text_panel";
import { window_param, window_text } from "./map_window";

function charts(reading: Reading): Chart[] {
  const choice = attention_choice(reading);
  const map = stored_map(reading.report, reading.model.name, choice.place);
  const wall = map_grid_chart(reading, choice);
  const [picture, sound] = [image_input(reading.report, reading.model.name), audio_input(reading.report, reading.model.name)];
  const whole = map && is_whole(map) ? map : undefined;
  const all = [
    wall.maps.length > 0 ? wall : undefined,
    map && map_chart(reading, choice, map),
    picture && whole && image_patches_chart(reading.report, picture, whole, choice.colour),
    sound && whole && audio_frames_chart(reading.report, sound, whole, choice.colour),
    profile_chart(reading, choice),
    max_rank_chart(reading, choice),
    ...text_heatmaps(reading, choice),
  ];
  return all.filter((chart) => chart !== undefined);
}

function draw(context: Context): HTMLElement {
  const { model } = context;
  const chosen = attention_choice(context);
  const wall = map_grid_chart(context, chosen);
  const { length, sequences } = text_facts(context);
  const axes = axes_of(context);
  const what = kWhat[axes?.of ?? "text"];
  const of_texts = sequences > 1 ? `; figures are means over ${sequences} ${what}s, maps are of the first` : "";
  const head = h(
    "div",
    { class: "view-head" },
    h(
      "div",
      {},
      h("h1", { class: "view" }, "Attention"),
      length > 0
        ? h("p", { class: "note" }, `${length_words(context, axes, length)}, ${model.layers} × ${model.heads} heads${of_texts}.`)
        : null,
    ),
    controls(
      stack_choice(context),
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
        chosen.exclude_first_token ? "others" : "all",
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
  context.report.live
    ? h("div", { class: "absent" }, h("p", {}, `There are no maps yet: run ${kRun[context.model.reads ?? "texts"]}.`))
    : absent_maps(context);

const kRun = { texts: "a text", images: "an image", sound: "a sound" } as const;

function maps(context: Context, chosen: AttentionChoice): HTMLElement {
  const { report, model, theme } = context;
  const { place } = chosen;
  const stored = stored_map(report, model.name, place);
  const fetched = !stored || !is_whole(stored) ? live_map(context, place) : undefined;
  const map = fetched?.map ?? stored;
  const wall = chart_frame(map_grid_chart(context, chosen), theme, {
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

  const pointing = select_queries(index_param(context.state, "q", map.shape.queries), (query) => context.note({ q: query ?? null }));
  const chart = map_chart(context, chosen, map);
  const frame = large_map({
    chart,
    theme,
    pointing,
    window: window_param(context.state, map.shape),
    facts: facts(context, chosen),
    on_window: (window) => context.note({ z: window_text(window, map.shape) }),
  });
  const shown = chosen.exclude_first_token ? exclude_first_token(map) : map;
  return grid(
    h("div", { class: "attention-text" }, is_whole(map) ? axes_panel(context, chosen, shown, pointing) : null),
    h(
      "div",
      { class: "attention-map" },
      frame,
      fetched?.said ?? null,
      is_whole(map) ? null : whole_map_command(context, chosen, `Each cell is the largest of ${cell_weights(map)} weights; the whole map`),
    ),
  );
}

const cell_weights = ({ of, shape }: HeadMap): number => Math.round((of.queries * of.keys) / (shape.queries * shape.keys));

/** What the map is of, to be pointed at. */
function axes_panel(context: Context, { colour }: AttentionChoice, map: HeadMap, pointing: SelectedQuery): HTMLElement | null {
  const { report, model, theme } = context;
  const axes = axes_of(context);
  if (!axes || !same_shape(shape_of(axes), map.shape)) return null;
  const [picture, sound] = [image_input(report, model.name), audio_input(report, model.name)];
  if (picture) return image_panel(report, picture, map, colour, theme, pointing);
  if (sound) return audio_panel(report, sound, map, colour, theme, pointing);
  const texts = (tokens: readonly ShownToken[]) => tokens.map((token) => token.text);
  const source = source_of(report, model.name);
  return text_panel(texts(tokens_of(report, model.name)), source && texts(source), map, colour, theme, pointing);
}

const kWhat = { text: "text", "two texts": "pair of texts", image: "image", sound: "sound" } as const;

/** "48 tokens", "12 tokens of a target on 15 of a source", "14 × 14 patches and 1 token of no place". */
function length_words({ report, model }: Context, axes: Axes | undefined, length: number): string {
  if (!axes) return counted(length, "token");
  if (axes.of === "two texts") return `${counted(axes.queries.length, "token")} of a target on ${axes.keys.length} of a source`;
  const picture = image_input(report, model.name);
  if (!picture) return counted(axes.queries.length, axes.noun);
  const others = picture.names.length > 0 ? ` and ${counted(picture.names.length, "token")} of no place` : "";
  return `${picture.patch_rows} × ${picture.patch_cols} patches${others}`;
}

/** Which of a model's stacks is shown, where the report holds several. */
function stack_choice({ report, model, go }: Context): HTMLElement | null {
  const stacks = stacks_of(report.file.models, model);
  if (stacks.length < 2) return null;
  const chosen = stacks.find((each) => each.model === model);
  return choice(
    "stack",
    stacks.map(({ index, stack }) => ({ value: String(index), label: stack })),
    String(chosen?.index),
    (m) => go({ m, l: null, h: null, z: null, q: null }),
  );
}

/** A head's figures on the text. */
function facts(context: Context, chosen: AttentionChoice): HTMLElement | null {
  const found = row_of_head(context, chosen);
  return found
    ? h(
        "p",
        { class: "head-facts" },
        head_facts(found, axes_of(context)).map(({ value, label }) => h("span", {}, h("b", {}, value), ` ${label}`)),
      )
    : null;
}

const kMostBytes = 2e6; // of all maps in a report

function whole_map_command(context: Context, { place }: AttentionChoice, what: string): HTMLElement {
  const [found] = map_places(context.report, context.model.name);
  const shape = found ? tokens_shape(found) : { queries: 0, keys: 0 };
  const bytes = shape.queries * shape.keys;
  const size = bytes > 0 ? ` (about ${bytes_words(bytes)})` : "";
  // A page keeps no larger one: what the program named instead, if anything.
  const other = context.report.file.skipped.find((each) => each.part === "maps" && each.model === context.model.name)?.command;
  const report = `${context.report.file.command.replace(/ --maps \S+/, "")} --maps ${place.layer},${place.head}`;
  return absent(`${what}${size}`, ...(bytes <= kMostBytes ? [report] : [other ?? []].flat()));
}

function ranks(context: Context, chosen: AttentionChoice): HTMLElement | null {
  const [profile, max_rank] = [profile_chart(context, chosen), max_rank_chart(context, chosen)];
  const title = "Rank of the maps";
  // A served page that has run no text yet says so above.
  if (!profile && !max_rank && context.report.live && !chosen.exclude_first_token) return null;
  if (!profile && !max_rank)
    return section(
      title,
      null,
      absent_analysis(context, "The rank of attention maps", chosen.exclude_first_token ? "attention_excluding_first" : "attention"),
    );
  const { energy, sequences } = text_facts(context);
  const collapsed = collapsed_words(context.report, layer_rows(context, chosen));
  const note =
    `Directions, and columns, that hold ${Math.round(energy * 100)}\u202f% of the energy${chosen.exclude_first_token ? ", without key 0" : ""}.` +
    `${sequences > 1 ? " Bars are standard errors over the texts." : ""}${collapsed ? ` ${collapsed}` : ""}`;
  return section(
    title,
    note,
    row(460, profile ? chart_frame(profile, context.theme) : null, max_rank ? chart_frame(max_rank, context.theme) : null),
  );
}

function on_text(context: Context, chosen: AttentionChoice): HTMLElement | null {
  const charts = text_heatmaps(context, chosen);
  const of = axes_of(context)?.of ?? "text";
  const induction =
    of !== "text" || rows_of(context.report, "induction", context.model.name).length > 0
      ? null
      : absent_analysis(context, "Induction, on repeated tokens,", "induction");
  if (charts.length === 0) return induction;
  const frames = charts.map((chart) =>
    chart_frame(chart, context.theme, { on_choose: ({ row: layer, column }) => context.go({ l: layer, h: column, z: null }) }),
  );
  return section(
    `What heads do on ${of === "two texts" ? "these texts" : `this ${of}`}`,
    "Means over queries. Shares are coloured by their square roots, so that small ones show. Choose a cell to see its map above.",
    row(context.model.heads > 16 ? 460 : 250, ...frames),
    induction ? h("div", { class: "below" }, induction) : null,
  );
}

export const attention_view: View = { id: "attention", title: "Attention", charts, draw };
