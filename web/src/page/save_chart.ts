// Saves a chart as SVG or PNG, or copies its Vega-Lite specification.
import { chart_tree, to_vega_lite, type Chart } from "../chart/chart";
import type { Theme } from "../chart/theme";
import { s, svg_text } from "../chart/svg_tree";
import { plain } from "../chart/rich_text";
import { h } from "./elements";

const kWidth = 900; // width of a saved image in pixels; PNG has twice as many

export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** The page's font face. An SVG image is a separate document and cannot use fonts of the page. */
function font_face(): string {
  for (const sheet of document.styleSheets) for (const rule of sheet.cssRules) if (rule instanceof CSSFontFaceRule) return rule.cssText;
  return "";
}

async function png(chart: Chart, theme: Theme): Promise<Blob> {
  const tree = chart_tree(chart, theme, kWidth);
  const with_font = { ...tree, children: [s("style", {}, font_face()), ...tree.children] };
  const image = new Image();
  const address = URL.createObjectURL(new Blob([svg_text(with_font)], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    const canvas = h("canvas", { width: 2 * kWidth, height: 2 * Math.ceil(Number(tree.attributes.height)) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser could not create the PNG"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}

async function copy(text: string): Promise<void> {
  // Some browsers do not allow a page from a file to use the clipboard. The text is saved as a file instead.
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    download("chart.vl.json", new Blob([text], { type: "application/json" }));
  }
}

export function save_menu(chart: Chart, theme: Theme): HTMLElement {
  const said = h("span", { role: "status", class: "said" });
  const act = (label: string, done: string, work: () => void | Promise<void>) =>
    h(
      "button",
      {
        type: "button",
        onclick: async () => {
          try {
            await work();
            said.textContent = done;
          } catch (error) {
            said.textContent = error instanceof Error ? error.message : String(error);
          }
          setTimeout(() => (said.textContent = ""), 2500);
        },
      },
      label,
    );
  const menu = h(
    "details",
    { class: "save" },
    h("summary", { "aria-label": `save ${plain(chart.title)}`, title: "save this chart" }, "⤓"),
    h(
      "div",
      { class: "save-list" },
      act("Save SVG", "saved", () =>
        download(`${chart.name}.svg`, new Blob([svg_text(chart_tree(chart, theme, kWidth))], { type: "image/svg+xml" })),
      ),
      act("Save PNG", "saved", async () => download(`${chart.name}.png`, await png(chart, theme))),
      act("Copy Vega-Lite", "copied", () => copy(JSON.stringify(to_vega_lite(chart, theme), null, 1))),
      said,
    ),
  );
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });
  menu.addEventListener("focusout", (event) => {
    if (!menu.contains(event.relatedTarget as Node | null)) menu.open = false;
  });
  return menu;
}
