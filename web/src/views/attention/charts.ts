// Charts of attention on a text.
import { counted_axis } from "../../chart/axis";
import type { Line, LinesChart } from "../../chart/lines";
import type { MapChart } from "../../chart/attention_map";
import { format_number } from "../../chart/number_format";
import { head_name } from "../../chart/rich_text";
import type { MapGridChart, GridMap } from "../../chart/attention_map_grid";
import type { WeightColor } from "../../chart/attention_colors";
import { same_shape } from "../../data/maps";
import { map_places, rows_of } from "../../data/report";
import type { AttentionHeadRow, AttentionLayerRow, ReportFile } from "../../data/report_file";
import { attention_heads, chosen_head, type HeadIndex } from "../../shaping/head_grid";
import { entropies, is_whole, open_map, type HeadMap, without_first_token } from "../../shaping/head_maps";
import type { Reading } from "../../shaping/reading";
import { choice_param } from "../../shaping/state";
import { text_facts } from "../../shaping/texts";
import { axes_of, kOfText, shape_of, type Axes } from "./axes";

export interface AttentionChoice {
  place: HeadIndex;
  color: WeightColor;
  exclude_first_token: boolean;
}

export function attention_choice(reading: Reading): AttentionChoice {
  return {
    place: chosen_head(reading),
    color: choice_param(reading.state, "c", ["log", "sqrt"]),
    exclude_first_token: choice_param(reading.state, "keys", ["all", "others"]) === "others",
  };
}

export const part_of = (choice: AttentionChoice) => (choice.exclude_first_token ? "attention_excluding_first" : "attention");

// One array per state of the maps, so that the image of all maps is made only once.
const walls = new WeakMap<ReportFile["maps"], Map<string, GridMap[]>>();

function wall_maps({ report, model }: Reading, exclude_first_token: boolean): GridMap[] {
  const known = walls.get(report.file.maps) ?? new Map<string, GridMap[]>();
  walls.set(report.file.maps, known);
  const key = `${exclude_first_token}/${model.name}`;
  const maps =
    known.get(key) ??
    map_places(report, model.name).map((each) => {
      const opened = open_map(report, each);
      const { bytes, shape } = exclude_first_token ? without_first_token(opened) : opened;
      return { layer: each.layer, head: each.head, shape, bytes, ...(is_whole(opened) ? {} : { thumbnail: true }) };
    });
  known.set(key, maps);
  return maps;
}

export function map_grid_chart(reading: Reading, { place, color, exclude_first_token }: AttentionChoice): MapGridChart {
  const { layers, heads } = reading.model;
  const maps = wall_maps(reading, exclude_first_token);
  const both = maps.some((map) => map.thumbnail) && maps.some((map) => !map.thumbnail);
  return {
    kind: "wall",
    name: "attention-wall",
    title: "All heads",
    ...(both ? { note: "Thumbnails. A marked corner: the full map is in this report." } : {}),
    layers,
    heads,
    color,
    chosen: place,
    maps,
  };
}

export function map_chart(reading: Reading, { place, color, exclude_first_token }: AttentionChoice, map: HeadMap): MapChart {
  const shown = exclude_first_token ? without_first_token(map) : map;
  const axes = axes_of(reading);
  const whole = is_whole(map);
  return {
    kind: "map",
    name: "attention-map",
    title: head_name(place),
    bytes: shown.bytes,
    shape: shown.shape,
    of: shown.of,
    color,
    ...(axes ? { noun: axes.noun } : {}),
    ...(shown.weights ? { weights: shown.weights } : {}),
    ...(axes && whole && same_shape(shape_of(axes), map.shape) ? { labels: { queries: axes.queries, keys: axes.keys } } : {}),
    ...(whole ? { entropy: entropies(shown) } : {}),
  };
}

export const row_of_head = ({ report, model }: Reading, choice: AttentionChoice): AttentionHeadRow | undefined =>
  attention_heads(report, model.name, part_of(choice)).find((row) => row.layer === choice.place.layer && row.head === choice.place.head);

// Ranks and columns can reach T. If all are far below, an axis up to T would flatten them.
function counts_axis(title: string, values: readonly (number | null | undefined)[], tokens: number) {
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  return {
    title,
    scale: "linear" as const,
    domain: [0, tokens > 0 && most > tokens / 3 ? Math.max(tokens, most) : Math.ceil(most * 1.15)] as [number, number],
  };
}

const line = <Row>(
  series: string,
  rows: readonly Row[],
  x: (row: Row) => number,
  y: (row: Row) => number | null | undefined,
  error: (row: Row) => number | null | undefined,
): Line => ({ series, x: rows.map(x), y: rows.map((row) => y(row) ?? null), error: rows.map((row) => error(row) ?? null) });

/** Rank and columns of the heads in the selected layer. Undefined if the report has no rows for it. */
export function profile_chart({ report, model }: Reading, choice: AttentionChoice): LinesChart | undefined {
  const { layer } = choice.place;
  const rows = attention_heads(report, model.name, part_of(choice))
    .filter((row) => row.layer === layer)
    .sort((a, b) => a.head - b.head);
  if (rows.length === 0) return undefined;
  return {
    kind: "lines",
    name: "attention-heads-of-layer",
    title: `Heads of layer ${layer}`,
    end_labels: true,
    points: true,
    x: counted_axis("head", model.heads),
    y: counts_axis(
      "",
      rows.flatMap((row) => [row.energy_rank, row.energy_columns]),
      text_facts({ report, model }).length,
    ),
    series: [
      { key: "rank", label: "energy rank", color: { role: "qk" } },
      { key: "columns", label: "energy columns", color: { role: "v" }, dash: "4 3" },
    ],
    panels: [
      {
        lines: [
          line(
            "rank",
            rows,
            (row) => row.head,
            (row) => row.energy_rank,
            (row) => row.energy_rank_error,
          ),
          line(
            "columns",
            rows,
            (row) => row.head,
            (row) => row.energy_columns,
            (row) => row.energy_columns_error,
          ),
        ],
      },
    ],
  };
}

export const layer_rows = ({ report, model }: Reading, choice: AttentionChoice): AttentionLayerRow[] =>
  rows_of(report, part_of(choice), model.name)
    .filter((row): row is AttentionLayerRow => row.head === null)
    .sort((a, b) => a.layer - b.layer);

/** The highest rank of any head, by layer. */
export function max_rank_chart(reading: Reading, choice: AttentionChoice): LinesChart | undefined {
  const rows = layer_rows(reading, choice);
  if (rows.length === 0) return undefined;
  const { directions } = text_facts(reading);
  return {
    kind: "lines",
    name: "attention-max-rank",
    title: directions > 0 ? `MaxRank by layer (maximum possible: ${directions})` : "MaxRank by layer",
    end_labels: true,
    points: true,
    x: counted_axis("layer", reading.model.layers),
    y: counts_axis(
      "",
      rows.flatMap((row) => [row.max_rank, (row.mean_max_rank ?? 0) + (row.mean_max_rank_error ?? 0)]),
      directions,
    ),
    series: [
      { key: "mean", label: rows.some((row) => row.sequences > 1) ? "mean over texts" : "MaxRank", color: "accent" },
      { key: "max", label: "highest mean of a head", color: "soft", dash: "4 3" },
    ],
    panels: [
      {
        lines: [
          line(
            "mean",
            rows,
            (row) => row.layer,
            (row) => row.mean_max_rank,
            (row) => row.mean_max_rank_error,
          ),
          // With a single text both are equal.
          ...(rows.some((row) => row.sequences > 1)
            ? [
                line(
                  "max",
                  rows,
                  (row: AttentionLayerRow) => row.layer,
                  (row) => row.max_rank,
                  () => null,
                ),
              ]
            : []),
        ],
      },
    ],
  };
}

export interface Fact {
  value: string;
  label: string;
}

/** Measures of attended positions: across two texts, in an image, or in one text. */
function places(row: AttentionHeadRow, noun: Axes["noun"]): Fact[] {
  const figure = (value: number | null | undefined) => format_number(value, ".2f");
  if (row.diagonality !== undefined)
    return [
      { value: figure(row.diagonality), label: "diagonality" },
      { value: figure(row.monotonicity), label: "monotonicity" },
    ];
  const current = { value: format_number(row.current_token, "percent"), label: `current ${noun}` };
  const away = (value: number | null | undefined) => (value == null ? "–" : String(Number(value.toFixed(1))));
  if (row.patch_distance != null) return [current, { value: away(row.patch_distance), label: "patches mean distance" }];
  const pair =
    row.a_to_b === undefined
      ? []
      : [
          { value: format_number(row.a_to_b, "percent"), label: "A → B" },
          { value: format_number(row.b_to_a, "percent"), label: "B → A" },
        ];
  return [
    { value: format_number(row.previous_token, "percent"), label: `previous ${noun}` },
    current,
    { value: away(row.mean_distance), label: `${noun}s mean distance` },
    ...pair,
  ];
}

/** A head's measures, for one line. */
export function head_facts(row: AttentionHeadRow, { first, noun }: Pick<Axes, "first" | "noun"> = kOfText): Fact[] {
  const number = (value: number | null | undefined, digits: number) => (value == null ? "–" : String(Number(value.toFixed(digits))));
  const share = (value: number | null | undefined) => format_number(value, "percent");
  return [
    { value: number(row.energy_rank, 1), label: "energy rank" },
    { value: number(row.energy_columns, 1), label: "energy columns" },
    { value: format_number(row.entropy, ".2f"), label: "nats entropy" },
    { value: share(row.sink_mass), label: first },
    ...places(row, noun),
  ];
}
