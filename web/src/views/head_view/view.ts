// Attention heads of one text: a grid of all heads, and lines between tokens for the selected ones.
import { draw_map, map_cell, map_layout, map_words, type MapChart } from "../../chart/attention_map";
import { draw_map_grid, map_grid_words, type MapGridChart } from "../../chart/attention_map_grid";
import { format_number } from "../../chart/number_format";
import { head_name } from "../../chart/rich_text";
import { draw_token_lines, type TokenLines, type TokenPlace } from "../../chart/token_lines";
import type { Theme } from "../../chart/theme";
import { map_places, model_at, source_of, tokens_of, type Report } from "../../data/report";
import { attach_grid_keys } from "../../page/grid_keys";
import { h, mount } from "../../page/elements";
import { is_whole, open_map, stored_map, weight_at, type HeadMap } from "../../shaping/head_maps";
import { choice_param, index_param, list_param, type State } from "../../shaping/state";
import { shown_token } from "../../shaping/tokens";

const kParts = {
  all: "All",
  a_to_a: "A → A",
  a_to_b: "A → B",
  b_to_a: "B → A",
  b_to_b: "B → B",
} as const;
type Part = keyof typeof kParts;

const kListed = 5; // tokens in the line of words

/** The whole view. It keeps its selection itself, and redraws parts of itself. */
export function head_view(report: Report, state: State, theme: Theme): HTMLElement {
  const model = model_at(report, 0);
  const places = map_places(report, model.name);
  const layers = [...new Set(places.map((place) => place.layer))].sort((a, b) => a - b);
  const heads = [...new Set(places.map((place) => place.head))].sort((a, b) => a - b);
  const asked = layers.includes(index_param(state, "l") ?? -1) ? index_param(state, "l") : undefined;
  let layer = asked ?? layers[0] ?? 0;
  let chosen = new Set((list_param(state, "h") ?? ["0"]).map(Number).filter((head) => heads.includes(head)));
  let part: Part = choice_param(state, "part", ["all", "a_to_a", "a_to_b", "b_to_a", "b_to_b"]);
  let [pointed, held] = [undefined, undefined] as [TokenPlace | undefined, TokenPlace | undefined];

  const queries = tokens_of(report, model.name).map(({ text }) => shown_token(text));
  const keys = source_of(report, model.name)?.map(({ text }) => shown_token(text)) ?? queries;
  const types = report.file.texts[0]?.pair_texts;
  const map_of = (head: number) => stored_map(report, model.name, { layer, head });
  const color_of_head = (head: number) => theme.models[heads.indexOf(head) % theme.models.length] ?? theme.accent;

  const [grid, controls, words, body] = [
    h("div", { class: "grid" }),
    h("div", { class: "controls" }),
    h("p", { class: "words", role: "status" }),
    h("div", { class: "body" }),
  ];

  function lines_now(): TokenLines {
    const of = (map: HeadMap, head: number) => ({
      color: color_of_head(head),
      weight: (query: number, key: number) => weight_at(map, query, key),
    });
    const from = part[0] === "a" ? 0 : 1;
    const to = part.endsWith("a") ? 0 : 1;
    const place = pointed ?? held;
    return {
      queries,
      keys,
      heads: [...chosen]
        .sort((a, b) => a - b)
        .flatMap((head) => {
          const map = map_of(head);
          return map && is_whole(map) ? [of(map, head)] : [];
        }),
      shown: part === "all" || !types ? () => true : (query, key) => types[query] === from && types[key] === to,
      ...(place ? { place } : {}),
    };
  }

  function words_now(chart: TokenLines): string {
    const { place } = chart;
    if (!place) return "Point at a token, on either side, to see its attention. Click to keep it selected.";
    const of_query = place.side === "query";
    const others = (of_query ? keys : queries).map((name, index) => {
      const [query, key] = of_query ? [place.index, index] : [index, place.index];
      const sum = chart.shown(query, key) ? chart.heads.reduce((all, head) => all + head.weight(query, key), 0) : 0;
      return { name, index, weight: sum / Math.max(1, chart.heads.length) };
    });
    const listed = others
      .filter(({ weight }) => weight >= 0.005)
      .sort((a, b) => b.weight - a.weight)
      .slice(0, kListed);
    const name = `“${(of_query ? queries : keys)[place.index] ?? ""}” (${place.index})`;
    const list = listed.map((each) => `“${each.name}” (${each.index}) ${format_number(each.weight, "percent")}`).join(", ");
    if (list === "") return `${name}: no attention in this selection.`;
    return of_query ? `${name} attends to ${list}` : `${name} is attended to by ${list}`;
  }

  /** The thumbnail of a head whose full map does not fit in the file. */
  function thumbnail(head: number, map: HeadMap): HTMLElement {
    const chart: MapChart = {
      kind: "map",
      name: "map",
      title: head_name({ layer, head }),
      bytes: map.bytes,
      shape: map.shape,
      of: map.of,
      color: "log",
    };
    const width = Math.min(420, body.clientWidth || 420);
    const svg = mount(draw_map(chart, theme, { width }));
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const cell = map_cell(map_layout(chart, { width }), event.clientX - box.left, event.clientY - box.top);
      if (cell) words.textContent = map_words(chart, cell.query, cell.key);
    });
    const note = `${head_name({ layer, head })}: the full map is not in this view. To see its tokens: .view(layer=${layer}, head=${head})`;
    return h("div", {}, h("p", { class: "note" }, note), svg as unknown as HTMLElement);
  }

  function draw_body(): void {
    const small = [...chosen].flatMap((head) => {
      const map = map_of(head);
      return map && !is_whole(map) ? [thumbnail(head, map)] : [];
    });
    const chart = lines_now();
    words.textContent = words_now(chart);
    const svg = mount(draw_token_lines(chart, theme, Math.max(280, Math.min(620, body.clientWidth || 560))));
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("role", "application");
    svg.setAttribute("aria-label", "attention between tokens: arrow keys select a token, Enter keeps it");
    const place_at = (event: Event): TokenPlace | undefined => {
      const group = (event.target as Element).closest<SVGElement>("[data-side]");
      return group ? { side: group.dataset.side === "key" ? "key" : "query", index: Number(group.dataset.index) } : undefined;
    };
    svg.addEventListener("pointermove", (event) => point(place_at(event)));
    svg.addEventListener("pointerleave", () => point(undefined));
    svg.addEventListener("click", (event) => hold(place_at(event)));
    svg.addEventListener("keydown", (event) => key_pressed(event));
    const had_focus = body.contains(document.activeElement);
    body.replaceChildren(...(chart.heads.length > 0 ? [svg] : []), ...small);
    if (had_focus) svg.focus({ preventScroll: true });
  }

  const same = (a: TokenPlace | undefined, b: TokenPlace | undefined) => a?.side === b?.side && a?.index === b?.index;
  function point(place: TokenPlace | undefined): void {
    if (same(place, pointed)) return;
    pointed = place;
    draw_body();
  }
  function hold(place: TokenPlace | undefined): void {
    held = same(place, held) ? undefined : place;
    pointed = undefined;
    draw_body();
  }
  function key_pressed(event: KeyboardEvent): void {
    const now = pointed ?? held ?? { side: "query" as const, index: -1 };
    const count = (side: TokenPlace["side"]) => (side === "query" ? queries : keys).length;
    const go = (side: TokenPlace["side"], index: number) => point({ side, index: Math.max(0, Math.min(count(side) - 1, index)) });
    if (event.key === "ArrowDown") go(now.side, now.index + 1);
    else if (event.key === "ArrowUp") go(now.side, now.index - 1);
    else if (event.key === "ArrowLeft") go("query", now.index);
    else if (event.key === "ArrowRight") go("key", now.index);
    else if (event.key === "Enter" || event.key === " ") hold(pointed ?? held);
    else if (event.key === "Escape") [pointed, held] = [undefined, undefined];
    else return;
    if (event.key === "Escape") draw_body();
    event.preventDefault();
  }

  function draw_controls(): void {
    const selects = [
      select(
        "layer",
        layers.map((each) => [String(each), `layer ${each}`]),
        String(layer),
        (value) => {
          layer = Number(value);
          draw();
        },
      ),
      types
        ? select("direction", Object.entries(kParts), part, (value) => {
            part = value as Part;
            draw();
          })
        : null,
    ];
    const toggle = (head: number, alone: boolean) => {
      const next = alone ? new Set([head]) : new Set(chosen);
      if (!alone && !next.delete(head)) next.add(head);
      chosen = next.size > 0 ? next : new Set([head]);
      draw();
    };
    const chips = heads.map((head) => {
      const map = map_of(head);
      const chip = h(
        "button",
        {
          type: "button",
          class: map && !is_whole(map) ? "chip small" : "chip",
          disabled: !map,
          "aria-pressed": chosen.has(head) ? "true" : "false",
          title: `${head_name({ layer, head })}: click to show or hide, Shift+click to show only this head`,
          onclick: (event: MouseEvent) => toggle(head, event.shiftKey),
        },
        String(head),
      );
      chip.style.setProperty("--color", color_of_head(head));
      return chip;
    });
    controls.replaceChildren(h("b", {}, model.name), ...selects.filter((each) => each !== null), h("span", {}, "heads"), ...chips);
  }

  function draw_grid(): void {
    const [first] = chosen;
    const chart: MapGridChart = {
      kind: "wall",
      name: "wall",
      title: "All heads",
      layers: Math.max(...layers) + 1,
      heads: Math.max(...heads) + 1,
      maps: wall,
      color: "log",
      largest_cell: 64,
      ...(first === undefined ? {} : { chosen: { layer, head: first } }),
    };
    const svg = mount(draw_map_grid(chart, theme, { width: Math.max(280, grid.clientWidth || 640) }));
    svg.addEventListener("pointermove", (event) => {
      const { row, column } = (event.target as SVGElement).dataset;
      if (row !== undefined) words.textContent = map_grid_words(chart, Number(row), Number(column));
    });
    const focused = grid.contains(document.activeElement) && first !== undefined ? { row: layer, column: first } : undefined;
    grid.replaceChildren(svg);
    attach_grid_keys(
      svg,
      chart,
      (place) => {
        layer = place.row;
        chosen = new Set([place.column]);
        draw();
      },
      focused,
    );
  }

  const wall = places.map((place) => {
    const map = open_map(report, place);
    return { layer: place.layer, head: place.head, shape: map.shape, bytes: map.bytes, ...(is_whole(map) ? {} : { thumbnail: true }) };
  });
  const has_grid = state.view === "grid";

  function draw(): void {
    if (has_grid) draw_grid();
    draw_controls();
    draw_body();
  }

  const least = report.file.least_weight;
  const note = least
    ? h("p", { class: "note" }, `Weights below ${format_number(least, ".1~g")} are left out, to keep this view small.`)
    : null;
  const root = h("div", { class: "head-view" }, has_grid ? grid : null, controls, words, body, note);
  // The width is known only inside the page.
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry?.contentRect.width ?? 0);
    if (width === drawn_width) return;
    drawn_width = width;
    draw();
  }).observe(root);
  let drawn_width = -1;
  return root;
}

function select(
  name: string,
  options: readonly (readonly [string, string])[],
  value: string,
  on_change: (value: string) => void,
): HTMLElement {
  return h(
    "select",
    { "aria-label": name, onchange: (event: Event) => on_change((event.target as HTMLSelectElement).value) },
    options.map(([each, label]) => h("option", { value: each, selected: each === value }, label)),
  );
}
