// An SVG image as plain data, for the page, files and tests.

export interface Tree {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly children: readonly (Tree | string)[];
}

export type Attributes = Record<string, string | number | null | undefined>;
type Child = Tree | string | null | undefined | false;

/** Creates a node. Null attributes and empty children are omitted. */
export function s(tag: string, attributes: Attributes = {}, ...children: (Child | readonly Child[])[]): Tree {
  const kept: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) kept[name] = value;
  return {
    tag,
    attributes: kept,
    children: children.flat().filter((child): child is Tree | string => child !== null && child !== undefined && child !== false),
  };
}

/** At most two decimals, because smaller differences are invisible. */
export function short(value: string | number): string {
  return typeof value === "number" ? String(Math.round(value * 100) / 100) : value;
}

const kEscapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

// Names from files may contain characters that XML forbids. They become replacement characters.
function escaped(text: string): string {
  return text
    .replace(/[&<>"]/g, (character) => kEscapes[character] ?? character)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/gu, "\ufffd");
}

/** The tree as SVG text, with the namespace on the root element. */
export function svg_text(tree: Tree, root = true): string {
  const attributes: Record<string, string | number> = root
    ? { xmlns: "http://www.w3.org/2000/svg", ...tree.attributes }
    : { ...tree.attributes };
  const head = Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escaped(short(value))}"`)
    .join("");
  if (tree.children.length === 0) return `<${tree.tag}${head}/>`;
  const inner = tree.children.map((child) => (typeof child === "string" ? escaped(child) : svg_text(child, false))).join("");
  return `<${tree.tag}${head}>${inner}</${tree.tag}>`;
}

/** All nodes with a tag, in document order. */
export function all_by_tag(tree: Tree, tag: string): Tree[] {
  const below = tree.children.flatMap((child) => (typeof child === "string" ? [] : all_by_tag(child, tag)));
  return tree.tag === tag ? [tree, ...below] : below;
}
