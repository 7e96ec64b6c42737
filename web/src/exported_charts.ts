// Every chart of a report by name, for `attnscope report --charts`. Runs in a plain JavaScript engine, without browser or Node APIs.
import { chart_tree, to_vega_lite, type Chart } from "./chart/chart";
import { kLight } from "./chart/theme";
import { svg_text } from "./chart/svg_tree";
import { plain } from "./chart/rich_text";
import { opened } from "./data/load";
import type { Report } from "./data/report";
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

export function all_charts(report: Report): Chart[] {
  if (report.file.models.length === 0) return array_charts(report);
  const threshold = report.file.thresholds[report.file.thresholds.length - 1] ?? 0.9;
  return report.file.models.flatMap((model, index) => {
    const reading = { report, state: { view: "", params: {} }, model, threshold };
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

(globalThis as Record<string, unknown>).attnscope_charts = (results: string, values: ArrayBuffer, maps: ArrayBuffer): string =>
  JSON.stringify(exported_charts(opened(results, values, maps, false)));
