// Heat maps of activation patching: components × positions, with the tokens as labels.
import type { HeatmapChart } from "../../chart/heatmap";
import { clipped, head_name } from "../../chart/rich_text";
import { rows_of } from "../../data/report";
import type { AblatePatchingRow } from "../../data/report_file";
import {
  effect_of,
  effect_words,
  format_of,
  is_significant,
  largest_effect,
  measure_of,
  unclear_words,
} from "../../shaping/prompt_effects";
import type { Measure } from "../../shaping/prompt_effects";
import type { Reading } from "../../shaping/reading";
import { shown_token } from "../../shaping/tokens";

const kShownHeads = 24;
const kLongestToken = 8;

const kNames: Record<AblatePatchingRow["component"], string> = {
  resid_pre: "residual stream before each layer",
  attention: "attention output of each layer",
  mixer: "mixer output of each layer",
  mlp: "MLP output of each layer",
  head: "output of each head",
  q: "queries of each head",
  k: "keys of each key/value head",
  v: "values of each key/value head",
};

function place_label(row: AblatePatchingRow): string {
  const token = row.token === null ? "" : clipped(row.position === null ? row.token : shown_token(row.token), kLongestToken);
  if (row.position === null) return token === "" ? "all positions" : token;
  return `${row.position} ${token}`.trim();
}

interface Line {
  label: string;
  rows: AblatePatchingRow[];
  most: number;
}

function lines_of(rows: readonly AblatePatchingRow[], measure: Measure): Line[] {
  const lines = new Map<string, Line>();
  for (const row of rows) {
    const label = row.head === null ? String(row.layer) : head_name({ layer: row.layer, head: row.head });
    const line = lines.get(label) ?? { label, rows: [], most: 0 };
    line.rows.push(row);
    line.most = Math.max(line.most, Math.abs(effect_of(row, measure) ?? 0));
    lines.set(label, line);
  }
  return [...lines.values()];
}

function note_of(rows: readonly AblatePatchingRow[], { direction, is_share }: Measure, unclear: string): string {
  const has_tokens = rows.some((row) => row.position !== null && row.token !== null);
  const several = (rows[0]?.prompts ?? 1) > 1;
  return (
    (is_share ? "Share of the clean–corrupted gap (%) " : "Change of the metric ") +
    (direction === "denoising" ? "restored by the clean activation. " : "lost with the corrupted activation. ") +
    `Columns: patched positions${has_tokens && several ? ", with the tokens of the first clean prompt" : ""}. –: ${unclear}.`
  );
}

/** One heat map per kind of component. Of heads, those with the largest effects. */
export function patching_charts({ report, model }: Reading): HeatmapChart[] {
  const all = rows_of(report, "ablate_patching", model.name);
  const measure = measure_of(all);
  if (measure === undefined) return [];
  const largest = largest_effect(all, measure);
  const most = measure.is_share ? Math.max(100, largest) : largest || 1;
  const format = format_of(measure, most);
  const unclear = unclear_words(all);
  const components = [...new Set(all.map((row) => row.component))];
  return components.map((component) => {
    const lines = lines_of(
      all.filter((row) => row.component === component),
      measure,
    );
    const of_heads = lines[0]?.rows[0]?.head !== null;
    const shown = of_heads ? [...lines].sort((a, b) => b.most - a.most).slice(0, kShownHeads) : lines;
    return {
      kind: "heatmap",
      name: `patching-${component}`,
      title: `Activation patching: ${kNames[component]}`,
      note:
        note_of(all, measure, unclear.caption) +
        (shown.length < lines.length ? ` The ${shown.length} of ${lines.length} heads with the largest effects.` : ""),
      cells: shown.map((line) => line.rows.map((row) => (is_significant(row, measure) ? effect_of(row, measure) : null))),
      details: shown.map((line) => line.rows.map((row) => effect_words(row, measure) ?? "")),
      no_number: unclear.tip,
      format,
      scale: { kind: "diverging", domain: [-most, most], format },
      rows: { title: of_heads ? "head" : "layer", labels: shown.map((line) => line.label) },
      columns: { title: "position", labels: (shown[0]?.rows ?? []).map(place_label) },
    };
  });
}
