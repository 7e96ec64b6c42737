// Layer × head grids: a cell for every query head of a model, and the selected head.
import type { ColorScale } from "../chart/chart_fields";
import type { Cell, HeatmapChart } from "../chart/heatmap";
import type { Format } from "../chart/number_format";
import type { Words } from "../chart/rich_text";
import { same_shape, stored_shape, tokens_shape } from "../data/maps";
import { largest, range } from "../data/numbers";
import { analysis, map_places, rows_of, type Report } from "../data/report";
import type { AnalysisId, AttentionHeadRow, Skipped } from "../data/report_file";
import type { Reading } from "./reading";
import { index_param } from "./state";

export interface HeadIndex {
  layer: number;
  head: number;
}

/** A measure with a value for every head. */
export interface HeadFigure {
  name: string; // name of its chart
  title: Words;
  note: string;
  id: AnalysisId; // analysis that has its rows
  circuit?: "qk" | "ov";
  format: Format;
  value(place: HeadIndex): number | null | undefined; // null: no value; undefined: not in this report
  scale(values: readonly number[]): ColorScale;
}

/** Ranks: from the largest value down to 0.7 times that or less. Lower ranks have stronger colors. */
export function rank_scale(values: readonly number[]): ColorScale {
  const most = Math.max(1, ...values);
  return { kind: "sequential", domain: [most, Math.min(Math.floor(0.7 * most), ...values)], format: "tick" };
}

/** Scores between -limit and +limit. */
export const score_scale = (limit: number): ColorScale => ({ kind: "diverging", domain: [-limit, limit], format: "+.2~f" });

/** Values between 0 and a limit. */
export const limit_scale = (limit: number, format: Format): ColorScale => ({ kind: "sequential", domain: [0, limit], format });

const kFactors: Readonly<Record<"qk" | "ov", readonly string[]>> = { qk: ["q", "k", "qk"], ov: ["v", "o", "ov"] };

/** Why a head has no value: it, its layer, its circuit or a factor of the circuit was skipped. */
export function why_skipped(report: Report, model: string, id: AnalysisId, place: HeadIndex, circuit?: "qk" | "ov"): string | undefined {
  const about = (each: Skipped) =>
    each.model === model &&
    (each.layer ?? place.layer) === place.layer &&
    (each.head ?? place.head) === place.head &&
    (!each.matrix || !circuit || kFactors[circuit].includes(each.matrix));
  return analysis(report, id)?.skipped.find(about)?.reason;
}

export function head_cells({ report, model }: Reading, figure: HeadFigure): Cell[][] {
  return range(model.layers).map((layer) =>
    range(model.heads).map((head): Cell => {
      const value = figure.value({ layer, head });
      if (value !== undefined) return value;
      const skipped = why_skipped(report, model.name, figure.id, { layer, head }, figure.circuit);
      return skipped === undefined ? "missing" : { skipped };
    }),
  );
}

export const numbers_in = (cells: readonly (readonly Cell[])[]): number[] =>
  cells.flat().filter((cell): cell is number => typeof cell === "number");

export function head_chart(reading: Reading, figure: HeadFigure, chosen?: HeadIndex): HeatmapChart {
  const cells = head_cells(reading, figure);
  return {
    kind: "heatmap",
    name: figure.name,
    title: figure.title,
    note: figure.note,
    cells,
    format: figure.format,
    scale: figure.scale(numbers_in(cells)),
    rows: { title: "layer", labels: range(reading.model.layers).map(String) },
    columns: { title: "head", labels: range(reading.model.heads).map(String) },
    ...(chosen ? { chosen: { row: chosen.layer, column: chosen.head } } : {}),
  };
}

/** Attention rows of a model's heads. */
export const attention_heads = (
  report: Report,
  model: string,
  id: "attention" | "attention_excluding_first" = "attention",
): AttentionHeadRow[] => rows_of(report, id, model).filter((row): row is AttentionHeadRow => row.head !== null);

/**
 * The head in the address. Otherwise the strongest previous-token head among those with a full map, because its pattern is easy to
 * recognize.
 */
export function chosen_head({ report, model, state }: Reading): HeadIndex {
  const [layer, head] = [index_param(state, "l", model.layers), index_param(state, "h", model.heads)];
  if (layer !== undefined || head !== undefined) return { layer: layer ?? 0, head: head ?? 0 };
  const whole = new Set(
    map_places(report, model.name)
      .filter((each) => same_shape(stored_shape(each), tokens_shape(each)))
      .map((each) => `${each.layer}/${each.head}`),
  );
  const rows = attention_heads(report, model.name).filter((row) => whole.size === 0 || whole.has(`${row.layer}/${row.head}`));
  const found = largest(rows, (row) => row.previous_token);
  return found && found.value > 0 ? { layer: found.row.layer, head: found.row.head } : { layer: 0, head: 0 };
}
