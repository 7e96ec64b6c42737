// Creates page elements without markup, so text is never interpreted as HTML.
import { short, type Tree } from "../chart/svg_tree";
import type { Words } from "../chart/rich_text";

type Handler = (event: never) => void;
type Value = string | number | boolean | null | undefined | Handler;
type Child = Node | string | null | undefined | false;

/** Creates an element. A function is an event listener ("onclick"); false and null omit an attribute. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, Value> = {},
  ...children: (Child | readonly Child[])[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) if (child || child === "") element.append(child as Node | string);
  return element;
}

/** Creates SVG elements from a tree. */
export function mount(tree: Tree): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tree.tag);
  for (const [name, value] of Object.entries(tree.attributes)) element.setAttribute(name, short(value));
  for (const child of tree.children) element.append(typeof child === "string" ? child : mount(child));
  return element;
}

/** Words as nodes, with elements for subscripts and bold parts. Names of options, such as --text, stay on one line. */
export function set_words(words: Words): (Node | string)[] {
  const whole = (text: string) =>
    text.split(/(--[a-z-]+)/).map((part, index) => (index % 2 === 1 ? h("span", { class: "option" }, part) : part));
  return (typeof words === "string" ? [words] : words).flatMap((word) =>
    typeof word === "string" ? whole(word) : "sub" in word ? h("sub", {}, word.sub) : h("b", {}, word.strong),
  );
}
