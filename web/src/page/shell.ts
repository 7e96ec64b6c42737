// The page around the views: top bar, current view, footer.
import { bytes_words } from "../chart/number_format";
import { kLight, type Theme } from "../chart/theme";
import { s, type Tree } from "../chart/svg_tree";
import { model_at, type Report } from "../data/report";
import type { AnyModel } from "../data/report_file";
import { threshold_words } from "../shaping/shared_words";
import { changed, fragment_of, index_param, parse_state, type State } from "../shaping/state";
import { draw_frames, forget_frames } from "./chart_frame";
import { h, mount } from "./elements";
import { apply_theme, current_theme, other_theme } from "./theme_switch";
import { hide_tip } from "./tooltip";
import type { Context, View, Views } from "./view";

/** The logo: a causal attention map of three tokens. */
function mark(theme: Theme): Tree {
  const cells: [number, number, string][] = [
    [0, 0, theme.roles.v],
    [0, 1, theme.roles.q],
    [1, 1, theme.roles.v],
    [0, 2, theme.roles.qk],
    [1, 2, theme.roles.q],
    [2, 2, theme.roles.v],
  ];
  return s(
    "svg",
    { width: 20, height: 20, viewBox: "0 0 20 20", "aria-hidden": "true" },
    cells.map(([x, y, fill]) => s("rect", { x: 1 + x * 6.2, y: 1 + y * 6.2, width: 5.2, height: 5.2, rx: 1, fill })),
  );
}

export interface Shell {
  report: Report;
  views: Views;
}

const kFade = 32; // pixels, as in style.css

/** Draws the page. Returns a function that redraws it after the report has changed. */
export function start({ report, views }: Shell): () => void {
  const [first] = views;
  let theme = current_theme();
  let last_place = "";
  const bar = h("header", { class: "bar" });
  const main = h("main", { id: "main", tabindex: -1 });
  const foot = h("footer", {});
  const skip = h(
    "a",
    {
      class: "skip",
      href: "#main",
      onclick: (event: MouseEvent) => {
        event.preventDefault(); // "#main" would be parsed as a view
        main.focus();
      },
    },
    "Skip to the charts",
  );
  document.body.prepend(skip, bar, main, foot);
  foot.append(...foot_words(report));

  const state_now = () => parse_state(location.hash || (report.file.open ?? ""), first.id);
  const context_of = (state: State): Context => {
    const thresholds = report.file.thresholds;
    const asked = Number(state.params.t);
    return {
      report,
      state,
      theme,
      model: model_at(report, index_param(state, "m", report.file.models.length) ?? 0),
      threshold: thresholds.find((each) => Math.abs(each - asked) < 1e-9) ?? thresholds[thresholds.length - 1] ?? 0.9,
      width: main.clientWidth,
      go: (changes, view) => void (location.hash = fragment_of(changed(state_now(), changes, view))),
      replace: (changes) => {
        history.replaceState(null, "", fragment_of(changed(state_now(), changes)));
        redraw();
      },
      note: (changes) => history.replaceState(null, "", fragment_of(changed(state_now(), changes))),
      link: (changes, view) => fragment_of(changed(state_now(), changes, view)),
    };
  };

  function redraw(): void {
    const state = state_now();
    const view = views.find((each) => each.id === state.view) ?? first;
    const context = context_of(state);
    apply_theme(theme);
    hide_tip();
    const focus = focus_path(document.activeElement);
    draw_bar(bar, view, context, views, () => {
      theme = other_theme(theme);
      redraw();
    });
    forget_frames();
    const drawn = view.draw(context);
    main.replaceChildren(drawn);
    main.dataset.view = view.id;
    document.title = `${view.title} · ${context.model.name} · attnscope`;
    draw_frames();
    restore_focus(focus);
    const place = `${view.id}/${context.model.name}`;
    if (last_place && place !== last_place) scrollTo(0, 0);
    last_place = place;
    main.dataset.drawn = String(Number(main.dataset.drawn ?? 0) + 1);
  }

  addEventListener("hashchange", redraw);
  new ResizeObserver(() => {
    draw_frames();
    fade_ends(bar.querySelector("nav"));
  }).observe(main);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    theme = current_theme();
    redraw();
  });
  let screen_theme = theme;
  addEventListener("beforeprint", () => {
    [screen_theme, theme] = [theme, kLight];
    redraw();
  });
  addEventListener("afterprint", () => {
    theme = screen_theme;
    redraw();
  });
  redraw();
  return redraw;
}

/** Fades the ends of the navigation beyond which it continues. */
function fade_ends(nav: HTMLElement | null): void {
  nav?.classList.toggle("more-before", nav.scrollLeft > 1);
  nav?.classList.toggle("more-after", nav.scrollLeft + nav.clientWidth < nav.scrollWidth - 1);
}

function draw_bar(bar: HTMLElement, view: View, context: Context, views: Views, switch_theme: () => void): void {
  const { report, theme } = context;
  const models = report.file.models;
  const next = theme.name === "dark" ? "light" : "dark";
  bar.replaceChildren(
    h(
      "a",
      { class: "brand", href: context.link({}, views[0].id), "aria-label": "attnscope" },
      mount(mark(theme)) as unknown as HTMLElement,
      h("span", {}, "attnscope"),
    ),
    h(
      "nav",
      {
        "aria-label": "views",
        onscroll: (event: Event) => fade_ends(event.currentTarget as HTMLElement),
        // Browsers do not scroll to a link that is partly visible.
        onfocusin: (event: Event) => (event.target as HTMLElement).scrollIntoView({ block: "nearest", inline: "nearest" }),
      },
      views
        .filter((each) => each === view || (each.named?.(report) ?? true))
        .map((each) => h("a", { href: context.link({}, each.id), "aria-current": each === view ? "page" : null }, each.title)),
    ),
    h(
      "div",
      { class: "bar-side" },
      models.length > 1
        ? h(
            "select",
            {
              "aria-label": "model",
              class: "models",
              onchange: (event: Event) => context.go({ m: (event.target as HTMLSelectElement).value, l: null, h: null }),
            },
            models.map((model, index) => h("option", { value: index, selected: model === context.model }, model.name)),
          )
        : null,
      report.file.thresholds.length > 1
        ? h(
            "select",
            {
              "aria-label": "energy threshold",
              title: "Energy rank: number of singular values that hold this fraction of the energy",
              onchange: (event: Event) => context.go({ t: (event.target as HTMLSelectElement).value }),
            },
            report.file.thresholds.map((threshold) =>
              h("option", { value: threshold, selected: threshold === context.threshold }, `${threshold_words(threshold)} energy`),
            ),
          )
        : null,
      h(
        "button",
        { type: "button", class: "theme", "aria-label": `${next} colors`, title: `${next} colors`, onclick: switch_theme },
        theme.name === "dark" ? "☀" : "☾",
      ),
    ),
  );
  // Scrolls only as far as needed to show the current view.
  const nav = bar.querySelector("nav");
  const current = nav?.querySelector<HTMLElement>("[aria-current]");
  if (nav && current) nav.scrollLeft = current.offsetLeft + current.offsetWidth + kFade - nav.clientWidth;
  fade_ends(nav);
}

// Position of the focus that survives a redraw: the same control in the same container.
interface FocusPlace {
  selector: string;
  index: number;
  selection?: readonly [number | null, number | null]; // selection in a text box
}

function focus_path(element: Element | null): FocusPlace | undefined {
  if (!element || element === document.body || !(element instanceof HTMLElement || element instanceof SVGElement)) return undefined;
  const chart = element.closest<HTMLElement>("[data-chart]")?.dataset.chart;
  const inside = chart ? `[data-chart="${CSS.escape(chart)}"] ` : element.closest(".bar") ? ".bar " : "main ";
  const { row, column } = element.dataset;
  const selector =
    inside + (row !== undefined ? `[role="gridcell"][data-row="${row}"][data-column="${column}"]` : element.tagName.toLowerCase());
  const index = [...document.querySelectorAll(selector)].indexOf(element);
  return element instanceof HTMLTextAreaElement
    ? { selector, index, selection: [element.selectionStart, element.selectionEnd] }
    : { selector, index };
}

function restore_focus(place: FocusPlace | undefined): void {
  if (!place || (document.activeElement && document.activeElement !== document.body)) return;
  const element = document.querySelectorAll<HTMLElement | SVGElement>(place.selector)[place.index];
  if (!element) return;
  element.focus({ preventScroll: true });
  if (place.selection && element instanceof HTMLTextAreaElement) element.setSelectionRange(...place.selection);
}

function foot_words(report: Report): HTMLElement[] {
  const { file } = report;
  return [
    h("span", {}, `attnscope ${file.version}`),
    ...file.models.map((model: AnyModel) => {
      const weights = model.dtype === null || model.bytes === null ? [] : [model.dtype, bytes_words(model.bytes)];
      return h("span", {}, [model.name, ...weights].join(", "));
    }),
    h("span", {}, "Energy: Σσ² (squared Frobenius norm). Random baseline: Marchenko–Pastur law, free convolution for products."),
    // A served page may be open on another machine than the server, for example through a forwarded port.
    h("span", {}, report.live ? "Your input is sent only to the server of this page." : "This page sends no data."),
  ];
}
