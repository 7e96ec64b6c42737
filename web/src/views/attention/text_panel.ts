// The text, colored by the attention of the token under the pointer, or by mean attention. For cross-attention, the reader points at the
// target, and the source is colored.
import { text_on } from "../../chart/oklab";
import type { Theme } from "../../chart/theme";
import { weight_hex, type WeightColor } from "../../chart/attention_colors";
import { h } from "../../page/elements";
import { attention_of_query, mean_attention_to_keys, type HeadMap } from "../../shaping/head_maps";
import type { SelectedQuery } from "./selected_query";
import { ends_line, shown_token } from "../../shaping/tokens";

export function text_panel(
  texts: readonly string[],
  source: readonly string[] | undefined,
  map: HeadMap,
  color: WeightColor,
  theme: Theme,
  pointing: SelectedQuery,
): HTMLElement {
  const title = h("h2", {});
  const tokens = texts.map((text, index) =>
    h("span", { role: "option", tabindex: -1, "data-token": index, "aria-selected": "false" }, shown_token(text)),
  );
  const attended = source ? source.map((text) => h("span", {}, shown_token(text))) : tokens;
  const on_average = mean_attention_to_keys(map);
  let stop = pointing.held() ?? 0;
  tokens[stop]?.setAttribute("tabindex", "0");

  const colors = () => {
    const query = pointing.query();
    const chosen = query === undefined ? undefined : tokens[query];
    title.textContent = chosen ? `Attention of “${chosen.textContent.trim()}” (token ${query})` : "Mean attention";
    const weights = query === undefined ? on_average : attention_of_query(map, query);
    attended.forEach((token, index) => {
      const weight = weights[index] ?? 0;
      const ground = weight_hex(theme, weight, color);
      token.style.background = weight > 0 ? ground : "";
      token.style.color = weight > 0 ? text_on(ground) : "";
    });
    tokens.forEach((token, index) => {
      token.classList.toggle("is-query", index === query);
      token.setAttribute("aria-selected", index === pointing.held() ? "true" : "false");
    });
  };
  const token_of = (event: Event): number | undefined => {
    const token = event.target instanceof HTMLElement ? event.target.dataset.token : undefined;
    return token === undefined ? undefined : Number(token);
  };
  const focus = (to: number) => {
    const token = tokens[Math.max(0, Math.min(tokens.length - 1, to))];
    if (!token) return;
    tokens[stop]?.setAttribute("tabindex", "-1");
    stop = tokens.indexOf(token);
    token.setAttribute("tabindex", "0");
    token.focus();
  };
  /** The nearest token in the line above or below. */
  const in_line = (from: number, direction: 1 | -1): number => {
    const box = tokens[from]?.getBoundingClientRect() ?? new DOMRect();
    const [x, y] = [box.left + box.width / 2, box.top];
    let [best, distance, line] = [from, Infinity, NaN];
    for (let index = from + direction, token = tokens[index]; token; index += direction, token = tokens[index]) {
      const each = token.getBoundingClientRect();
      if (Math.abs(each.top - y) < 2) continue;
      if (Number.isNaN(line)) line = each.top;
      if (Math.abs(each.top - line) > 2) break;
      const away = Math.abs(each.left + each.width / 2 - x);
      if (away < distance) [best, distance] = [index, away];
    }
    return best;
  };
  const list = h(
    "div",
    {
      class: "tokens",
      role: "listbox",
      "aria-label": source ? "tokens of the target" : "tokens of the text",
      onpointerover: (event: Event) => pointing.point(token_of(event)),
      onpointerleave: () => pointing.point(undefined),
      onfocusin: (event: Event) => (event.target as Element).matches(":focus-visible") && pointing.point(token_of(event)),
      onfocusout: () => pointing.point(undefined),
      onclick: (event: Event) => {
        const token = token_of(event);
        if (token !== undefined) pointing.hold(token);
      },
      onkeydown: (event: KeyboardEvent) => {
        const from = token_of(event);
        if (from === undefined) return;
        if (event.key === "ArrowRight") focus(from + 1);
        else if (event.key === "ArrowLeft") focus(from - 1);
        else if (event.key === "ArrowDown") focus(in_line(from, 1));
        else if (event.key === "ArrowUp") focus(in_line(from, -1));
        else if (event.key === "Home") focus(0);
        else if (event.key === "End") focus(tokens.length - 1);
        else if (event.key === "Enter" || event.key === " ") pointing.hold(from);
        else return;
        event.preventDefault();
      },
    },
    lines_of(tokens, texts),
  );
  pointing.watch(colors);
  colors();
  return h(
    "div",
    { class: "text-panel" },
    title,
    h(
      "p",
      { class: "note" },
      `Color: attention on each token${source ? " of the source" : ""}. Point at a token${source ? " of the target" : ""} or a row of ` +
        "the map to see the attention of one query. Click to keep it selected.",
    ),
    source ? h("h3", {}, "Target") : null,
    list,
    source ? [h("h3", {}, "Source"), h("p", { class: "tokens read-only" }, lines_of(attended, source))] : [],
  );
}

const lines_of = (tokens: readonly HTMLElement[], texts: readonly string[]): HTMLElement[] =>
  tokens.flatMap((token, index) => (ends_line(texts[index] ?? "") ? [token, h("br")] : [token]));
