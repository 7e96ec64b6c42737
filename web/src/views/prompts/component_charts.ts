// Effects of heads, attention, mixers and MLPs on the logit difference of prompts.
import type { Columns, GroupedBarsChart } from "../../chart/grouped_bars";
import { grouped_bars_axis } from "../../chart/grouped_bars";
import type { HeatmapChart } from "../../chart/heatmap";
import { range } from "../../data/numbers";
import { rows_of } from "../../data/report";
import type { AblatePromptsRow } from "../../data/report_file";
import { effect_of, effect_words, format_of, interval_of, is_significant, unclear_words } from "../../shaping/prompt_effects";
import type { Direction, Measure } from "../../shaping/prompt_effects";
import type { Reading } from "../../shaping/reading";

const kHow = { corrupted: "patched", mean: "replaced by its mean over the prompts", zero: "replaced by zeros" } as const;

/** Titles and captions: patching has two directions; without corrupted prompts, components are ablated. */
function words_of(rows: readonly AblatePromptsRow[], direction: Direction): { title: string; meaning: (what: string) => string } {
  const how = rows[0]?.ablation ?? "corrupted";
  if (how !== "corrupted") {
    return { title: "Ablation effect", meaning: (what) => `Lost share of the logit difference (%) when ${what} is ${kHow[how]}.` };
  }
  return direction === "denoising"
    ? {
        title: "Denoising effect",
        meaning: (what) => `Share of the clean–corrupted gap (%) restored by the clean output of ${what}.`,
      }
    : {
        title: "Noising effect",
        meaning: (what) => `Share of the clean–corrupted gap (%) lost with the corrupted output of ${what}.`,
      };
}

const measured = (rows: readonly AblatePromptsRow[], measure: Measure): AblatePromptsRow[] =>
  rows.filter((row) => effect_of(row, measure) !== null);

/** Layer × head heatmap of one direction. Undefined if no head was patched. */
export function heads_chart({ report, model }: Reading, direction: Direction): HeatmapChart | undefined {
  const measure = { direction, is_share: true };
  const all = rows_of(report, "ablate_prompts", model.name);
  const rows = measured(
    all.filter((row) => row.component === "head"),
    measure,
  );
  if (rows.length === 0) return undefined;
  const at = new Map(rows.map((row) => [`${row.layer}/${row.head}`, row]));
  const grid = <T>(of: (row: AblatePromptsRow | undefined) => T) =>
    range(model.layers).map((layer) => range(model.heads).map((head) => of(at.get(`${layer}/${head}`))));
  const most = Math.max(1, ...rows.map((row) => Math.abs(effect_of(row, measure) ?? 0)));
  const format = format_of(measure, most);
  const { title, meaning } = words_of(rows, direction);
  const unclear = unclear_words(all);
  return {
    kind: "heatmap",
    name: `prompts-heads-${direction}`,
    title: `${title} of each head`,
    note: `${meaning("one head")} –: ${unclear.caption}.`,
    cells: grid((row) => (row === undefined ? ("missing" as const) : is_significant(row, measure) ? effect_of(row, measure) : null)),
    details: grid((row) => (row && effect_words(row, measure)) ?? ""),
    no_number: unclear.tip,
    format,
    scale: { kind: "diverging", domain: [-most, most], transform: "symlog", format },
    rows: { title: "layer", labels: range(model.layers).map(String) },
    columns: { title: "head", labels: range(model.heads).map(String) },
  };
}

/** Bars for the attention, mixer and MLP of each layer. */
export function layers_chart({ report, model }: Reading, direction: Direction): GroupedBarsChart | undefined {
  const measure = { direction, is_share: true };
  const all = rows_of(report, "ablate_prompts", model.name);
  const columns = (["attention", "mixer", "mlp"] as const).flatMap((series): Columns[] => {
    const rows = measured(
      all.filter((row) => row.component === series),
      measure,
    );
    if (rows.length === 0) return [];
    const at = new Map(rows.map((row) => [row.layer, row]));
    const of_layers = <T>(of: (row: AblatePromptsRow) => T) =>
      range(model.layers).map((layer) => {
        const row = at.get(layer);
        return row === undefined ? null : of(row);
      });
    return [
      {
        series,
        heights: of_layers((row) => effect_of(row, measure)),
        intervals: of_layers((row) => interval_of(row, measure)),
        gray: of_layers((row) => !is_significant(row, measure)).map((gray) => gray === true),
      },
    ];
  });
  if (columns.length === 0) return undefined;
  const { title, meaning } = words_of(all, direction);
  const mixes = columns.some(({ series }) => series === "mixer");
  const has_intervals = columns.some(({ intervals }) => Array.from(intervals ?? []).some((each) => each !== null));
  return {
    kind: "columns",
    name: `prompts-layers-${direction}`,
    title: `${title} of attention${mixes ? ", mixer" : ""} and MLP`,
    note:
      `${meaning(`the attention${mixes ? ", the mixer" : ""} or the MLP of one layer`)}` +
      `${has_intervals ? " Whiskers: 95% bootstrap interval." : ""} Gray: ${unclear_words(all).caption}.`,
    groups: { title: "layer", count: model.layers },
    y: grouped_bars_axis("share of the gap (%)", model.layers, columns),
    series: [
      { key: "attention", label: "attention", color: { role: "qk" } },
      ...(mixes ? [{ key: "mixer", label: "mixer", color: { role: "v" as const } }] : []),
      { key: "mlp", label: "MLP", color: { role: "up" } },
    ],
    columns,
  };
}
