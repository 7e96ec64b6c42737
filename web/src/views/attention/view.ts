import type { Chart } from "../../chart/chart";
import { bytes_words, counted } from "../../chart/number_format";
import { same_shape, tokens_shape } from "../../data/maps";
import { map_places, image_input, rows_of, audio_input, source_of, tokens_of, type ShownToken } from "../../data/report";
import { head_name } from "../../chart/rich_text";
import { live_panel } from "../../live/run_panel";
import { live_map } from "../../live/served_maps";
import { chart_frame } from "../../page/chart_frame";
import { h } from "../../page/elements";
import { absent, absent_analysis, absent_maps, choice, controls, row, section, skipped_lines } from "../../page/view_parts";
import type { Context, View } from "../../page/view";
import { is_whole, stored_map, without_first_token, type HeadMap } from "../../shaping/head_maps";
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
    picture && whole && image_patches_chart(reading.report, picture, whole, choice.color),
    sound && whole && audio_frames_chart(reading.report, sound, whole, choice.color),
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
  const of_texts = sequences > 1 ? ` Measures are means over ${sequences} ${what}; maps show the first one.` : "";
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
            `${length_words(context, axes, length)}, ${counted(model.layers, "layer")} × ${counted(model.heads, "head")}. ` +
              `Maps: rows are queries, columns are keys.${of_texts}`,
          )
        : null,
    ),
    controls(
      stack_choice(context),
      choice(
        "color",
        [
          { value: "log", label: "Log scale" },
          { value: "sqrt", label: "Square-root scale" },
        ],
        chosen.color,
        (c) => context.go({ c }),
      ),
      choice(
        "keys",
        [
          { value: "all", label: "All keys" },
          { value: "others", label: "Exclude first token" },
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
    ? h("div", { class: "absent" }, h("p", {}, `No attention maps yet. Run ${kRun[context.model.reads ?? "texts"]}.`))
    : absent_maps(context);

const kRun = { texts: "a text", images: "an image", sound: "an audio file" } as const;

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
        h("h2", {}, head_name(place)),
        fetched?.said ?? whole_map_command(context, chosen, `map of ${head_name(place)}`),
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
  const shown = chosen.exclude_first_token ? without_first_token(map) : map;
  return grid(
    h("div", { class: "attention-text" }, is_whole(map) ? axes_panel(context, chosen, shown, pointing) : null),
    h(
      "div",
      { class: "attention-map" },
      frame,
      fetched?.said ?? null,
      is_whole(map) ? null : whole_map_command(context, chosen, `full map; each cell above is the maximum of ${cell_weights(map)} weights`),
    ),
  );
}

const cell_weights = ({ of, shape }: HeadMap): number => Math.round((of.queries * of.keys) / (shape.queries * shape.keys));

/** The text, image or audio of the map, for selecting a query. */
function axes_panel(context: Context, { color }: AttentionChoice, map: HeadMap, pointing: SelectedQuery): HTMLElement | null {
  const { report, model, theme } = context;
  const axes = axes_of(context);
  if (!axes || !same_shape(shape_of(axes), map.shape)) return null;
  const [picture, sound] = [image_input(report, model.name), audio_input(report, model.name)];
  if (picture) return image_panel(report, picture, map, color, theme, pointing);
  if (sound) return audio_panel(report, sound, map, color, theme, pointing);
  const texts = (tokens: readonly ShownToken[]) => tokens.map((token) => token.text);
  const source = source_of(report, model.name);
  return text_panel(texts(tokens_of(report, model.name)), source && texts(source), map, color, theme, pointing);
}

const kWhat = { text: "texts", "two texts": "pairs of texts", image: "images", audio: "audio files" } as const;

/** "48 tokens", "12 target tokens, 15 source tokens", "14 × 14 patches and 1 other token". */
function length_words({ report, model }: Context, axes: Axes | undefined, length: number): string {
  if (!axes) return counted(length, "token");
  if (axes.of === "two texts") return `${counted(axes.queries.length, "target token")}, ${counted(axes.keys.length, "source token")}`;
  const picture = image_input(report, model.name);
  if (!picture) return counted(axes.queries.length, axes.noun);
  const others = picture.names.length > 0 ? ` and ${counted(picture.names.length, "other token")}` : "";
  return `${picture.patch_rows} × ${picture.patch_cols} patches${others}`;
}

/** Selection of a stack, if the report has several stacks of the model. */
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

/** A head's measures on the text. */
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

const kMostBytes = 2e6; // limit for all maps in a report

function whole_map_command(context: Context, { place }: AttentionChoice, what: string): HTMLElement {
  const [found] = map_places(context.report, context.model.name);
  const shape = found ? tokens_shape(found) : { queries: 0, keys: 0 };
  const bytes = shape.queries * shape.keys;
  const size = bytes > 0 ? ` (about ${bytes_words(bytes)})` : "";
  // Larger maps do not fit in a page: use the command that the program suggests, if any.
  const other = context.report.file.skipped.find((each) => each.part === "maps" && each.model === context.model.name)?.command;
  const report = `${context.report.file.command.replace(/ --maps \S+/, "")} --maps ${place.layer},${place.head}`;
  return absent(`${what}${size}`, ...(bytes <= kMostBytes ? [report] : [other ?? []].flat()));
}

function ranks(context: Context, chosen: AttentionChoice): HTMLElement | null {
  const [profile, max_rank] = [profile_chart(context, chosen), max_rank_chart(context, chosen)];
  const title = "Rank of attention maps";
  // In a served page without a text, a message above says so.
  if (!profile && !max_rank && context.report.live && !chosen.exclude_first_token) return null;
  if (!profile && !max_rank)
    return section(
      title,
      null,
      absent_analysis(context, "rank of attention maps", chosen.exclude_first_token ? "attention_excluding_first" : "attention"),
    );
  const { energy, sequences } = text_facts(context);
  const collapsed = collapsed_words(context.report, layer_rows(context, chosen));
  const note =
    `Energy rank: number of singular values with ${Math.round(energy * 100)}% of the energy. Energy columns: number of keys with ` +
    `the same energy. MaxRank: highest energy rank of any head in a layer.${chosen.exclude_first_token ? " Key 0 is excluded." : ""}` +
    (sequences > 1 ? " Error bars: standard errors over texts." : "") +
    (collapsed ? ` ${collapsed}` : "");
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
      : absent_analysis(context, "induction scores on repeated tokens", "induction");
  if (charts.length === 0) return induction && h("div", { class: "below" }, induction);
  const frames = charts.map((chart) =>
    chart_frame(chart, context.theme, { on_choose: ({ row: layer, column }) => context.go({ l: layer, h: column, z: null }) }),
  );
  return section(
    `Attention patterns on ${of === "two texts" ? "these texts" : `this ${of}`}`,
    "Means over queries. Rows: layers; columns: heads. Fractions have a square-root color scale. Select a cell to see its map above.",
    row(context.model.heads > 16 ? 460 : 250, ...frames),
    induction ? h("div", { class: "below" }, induction) : null,
  );
}

export const attention_view: View = { id: "attention", title: "Attention", charts, draw };
