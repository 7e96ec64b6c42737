// Renders a Vega-Lite specification without a page.
import * as vega from "vega";
import { compile, type TopLevelSpec } from "vega-lite";

export interface Item {
  kind: string; // mark type: "line", "rect", "symbol", …
  fill?: string;
  stroke?: string;
  x: number;
  y: number;
  datum: Readonly<Record<string, unknown>>;
}

export interface Rendered {
  svg: string;
  warned: string[];
  items: Item[]; // data marks, without axes and legends
  domain(scale: string): unknown[];
}

interface SceneItem extends Partial<Item> {
  items?: SceneItem[];
  marktype?: string;
  role?: string;
}

function collect(node: SceneItem, out: Item[]): void {
  for (const item of node.items ?? []) {
    if (node.marktype && node.role === "mark" && node.marktype !== "group") out.push({ ...(item as Item), kind: node.marktype });
    collect(item, out);
  }
}

export async function rendered(specification: object): Promise<Rendered> {
  const warned: string[] = [];
  const warn = (...words: unknown[]) => (warned.push(words.join(" ")), logger);
  const silent = () => logger;
  const logger = { level: silent, error: warn, warn, info: silent, debug: silent } as unknown as vega.LoggerInterface;
  const { spec } = compile(specification as TopLevelSpec, { logger: logger as never });
  const view = new vega.View(vega.parse(spec), { renderer: "none", logger });
  const svg = await view.toSVG();
  const items: Item[] = [];
  collect((view.scenegraph() as unknown as { root: SceneItem }).root, items);
  return { svg, warned, items, domain: (scale) => (view.scale(scale) as { domain(): unknown[] }).domain() };
}
