// Graph of head pairs with high composition scores. Horizontal: layers; vertical: heads; one curve per pair.
import type { ChartFields, Series, Size } from "./chart_fields";
import { kVegaLiteSchema, vega_data } from "./csv";
import { color_of, kFont, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { plain } from "./rich_text";

export interface Edge {
  series: string; // "q", "k" or "v": input of the later head
  from: { layer: number; head: number };
  to: { layer: number; head: number };
  strength: number; // line width, 0 to 1
  label: string; // tooltip with the score
}

export interface GraphChart extends ChartFields {
  kind: "graph";
  layers: number;
  heads: number;
  series: Series[];
  edges: Edge[];
  chosen?: { layer: number; head: number };
}

export function graph_layout(chart: GraphChart, { width }: Size) {
  const row = Math.max(9, Math.min(26, 380 / chart.heads));
  const [left, top] = [26, 24];
  const across = (width - left - 24) / Math.max(1, chart.layers - 1);
  return {
    width,
    height: top + chart.heads * row + 8,
    place: ({ layer, head }: { layer: number; head: number }) => ({ x: left + layer * across, y: top + (head + 0.5) * row }),
  };
}

export function draw_graph(chart: GraphChart, theme: Theme, size: Size): Tree {
  const { width, height, place } = graph_layout(chart, size);
  const label = { "font-size": 11, fill: theme.faint };
  const busy = new Set(chart.edges.flatMap((edge) => [`${edge.from.layer}/${edge.from.head}`, `${edge.to.layer}/${edge.to.head}`]));
  const nodes = Array.from({ length: chart.layers * chart.heads }, (_, index) => ({
    layer: Math.floor(index / chart.heads),
    head: index % chart.heads,
  }));
  return s(
    "svg",
    {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": kFont,
      role: "img",
      "aria-label":
        chart.label ??
        `${plain(chart.title)}. ${chart.edges
          .slice(0, 12)
          .map((edge) => edge.label)
          .join("; ")}`,
    },
    Array.from({ length: chart.layers }, (_, layer) =>
      s("text", { x: place({ layer, head: 0 }).x, y: 12, "text-anchor": "middle", ...label }, String(layer)),
    ),
    Array.from({ length: chart.heads }, (_, head) =>
      s("text", { x: 12, y: place({ layer: 0, head }).y + 3.8, "text-anchor": "end", ...label }, String(head)),
    ),
    chart.edges.map((edge, index) => {
      const [from, to] = [place(edge.from), place(edge.to)];
      const middle = (from.x + to.x) / 2;
      const series = chart.series.find((each) => each.key === edge.series);
      return s("path", {
        "data-edge": index,
        d:
          `M${from.x.toFixed(1)} ${from.y.toFixed(1)}C${middle.toFixed(1)} ${from.y.toFixed(1)} ${middle.toFixed(1)} ` +
          `${to.y.toFixed(1)} ${to.x.toFixed(1)} ${to.y.toFixed(1)}`,
        fill: "none",
        stroke: color_of(theme, series?.color ?? "accent"),
        "stroke-width": 0.8 + 3.2 * edge.strength,
        "stroke-opacity": 0.5 + 0.45 * edge.strength,
        "stroke-dasharray": series?.dash,
      });
    }),
    nodes.map((node) => {
      const { x, y } = place(node);
      const chosen = chart.chosen?.layer === node.layer && chart.chosen.head === node.head;
      const used = busy.has(`${node.layer}/${node.head}`);
      return s("circle", {
        cx: x,
        cy: y,
        r: chosen ? 6 : used ? 4 : 2.2,
        fill: used || chosen ? theme.ink : theme.line,
        stroke: chosen ? theme.accent : theme.ground,
        "stroke-width": chosen ? 2.5 : 1,
        "data-row": node.layer,
        "data-column": node.head,
      });
    }),
  );
}

export function graph_to_vega_lite(chart: GraphChart, theme: Theme): object {
  const rows = chart.edges.map((edge) => [
    edge.from.layer,
    edge.from.head,
    edge.to.layer,
    edge.to.head,
    edge.strength,
    plain(chart.series.find((each) => each.key === edge.series)?.label ?? edge.series),
    edge.label,
  ]);
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(
      ["from_layer", "from_head", "receiver_layer", "receiver_head", "strength", "series", "label"],
      ["series", "label"],
      rows,
    ),
    width: 600,
    height: 300,
    mark: "rule",
    encoding: {
      x: { field: "from_layer", type: "quantitative", title: "layer", scale: { domain: [0, chart.layers - 1], nice: false } },
      x2: { field: "receiver_layer" },
      y: { field: "from_head", type: "quantitative", title: "head", scale: { domain: [chart.heads - 1, 0], nice: false } },
      y2: { field: "receiver_head" },
      strokeWidth: { field: "strength", type: "quantitative", legend: null, scale: { domain: [0, 1], range: [0.8, 4] } },
      color: {
        field: "series",
        type: "nominal",
        title: null,
        sort: null,
        scale: {
          domain: chart.series.map((series) => plain(series.label)),
          range: chart.series.map((series) => color_of(theme, series.color)),
        },
      },
      tooltip: { field: "label", type: "nominal" },
    },
  };
}
