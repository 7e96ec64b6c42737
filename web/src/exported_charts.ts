// Every chart of a report by name, for `attnscope report --charts`. Runs in a plain JavaScript engine, without browser or Node APIs.
import { chart_tree, to_vega_lite, type Chart } from "./chart/chart";
import type { ImageChart } from "./chart/image";
import type { MapChart } from "./chart/attention_map";
import { kLight } from "./chart/theme";
import { svg_text } from "./chart/svg_tree";
import { plain } from "./chart/rich_text";
import { numbers_of_planes, opened } from "./data/load";
import type { Report } from "./data/report";
import { exact_map } from "./shaping/head_maps";
import type { State } from "./shaping/state";
import { array_charts } from "./views/spectra/array_spectrum";
import { kViews } from "./views/views";

export interface ExportedChart {
  name: string;
  title: string;
  vega_lite: object;
  svg: string;
}

const kWidth = 900;
const kOfAllModels = "models-"; // prefix of charts that compare models

/** The state that a report opens with. The engine has no URLSearchParams, and the program escapes nothing in it. */
function opened_state(fragment: string): State {
  const [view = "", query = ""] = fragment.split("?", 2);
  const pairs = query.split("&").map((pair) => pair.split("=", 2));
  return { view, params: Object.fromEntries(pairs.flatMap(([name, value]) => (name && value !== undefined ? [[name, value]] : []))) };
}

export function all_charts(report: Report): Chart[] {
  if (report.file.models.length === 0) return array_charts(report);
  const threshold = report.file.thresholds[report.file.thresholds.length - 1] ?? 0.9;
  return report.file.models.flatMap((model, index) => {
    const reading = { report, state: opened_state(report.file.open ?? ""), model, threshold };
    const charts = kViews.flatMap((view) => view.charts?.(reading) ?? []);
    const of_one = (chart: Chart) => report.file.models.length > 1 && !chart.name.startsWith(kOfAllModels);
    return charts.map((chart) => (of_one(chart) ? { ...chart, name: `model-${index}-${chart.name}` } : chart));
  });
}

export function exported_charts(report: Report): ExportedChart[] {
  return all_charts(report).map((chart) => ({
    name: chart.name,
    title: plain(chart.title),
    vega_lite: to_vega_lite(chart, kLight),
    svg: svg_text(chart_tree(chart, kLight, kWidth)),
  }));
}

/** One matrix, without a report. */
export interface ExportedImage {
  title: string;
  rows: number;
  columns: number;
  signed: boolean; // colors diverge from 0
  limit: number; // value of the last color
  labels?: string[]; // tokens of the rows and columns: the matrix is an attention map
}

export function exported_image({ title, rows, columns, signed, limit, labels }: ExportedImage, values: Float32Array): Chart {
  const whole = { queries: rows, keys: columns };
  if (labels) {
    const { bytes, weights } = exact_map(values, whole);
    const map: MapChart = { kind: "map", name: "map", title, bytes, shape: whole, color: "log", labels: { queries: labels, keys: labels } };
    return weights ? { ...map, weights } : map;
  }
  const scale: ImageChart["scale"] = signed
    ? { kind: "diverging", domain: [-limit, limit], format: "tick" }
    : { kind: "sequential", domain: [0, limit], format: "tick" };
  return { kind: "image", name: "image", title, values, rows, columns, shape: [rows, columns], scale };
}

(globalThis as Record<string, unknown>).attnscope_image = (description: string, values: ArrayBuffer): string =>
  svg_text(chart_tree(exported_image(JSON.parse(description) as ExportedImage, numbers_of_planes(values)), kLight, kWidth));

(globalThis as Record<string, unknown>).attnscope_charts = (results: string, values: ArrayBuffer, maps: ArrayBuffer): string =>
  JSON.stringify(exported_charts(opened(results, values, maps, false)));
