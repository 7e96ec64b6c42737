// Building blocks of views: sections, choices, and placeholders for missing results.
import { column_count } from "../chart/lines";
import { matrix_words, plain, type Words } from "../chart/rich_text";
import type { AnalysisId, Matrix, Model, Skipped } from "../data/report_file";
import { missing_analysis } from "../shaping/missing_analysis";
import { place_words } from "../shaping/shared_words";
import { draw_frames } from "./chart_frame";
import { h, set_words } from "./elements";
import type { Context } from "./view";

export function section(title: Words, note: Words | null, ...children: (Node | null)[]): HTMLElement {
  return h(
    "section",
    {},
    h("header", { class: "section-head" }, h("h2", {}, set_words(title)), note ? h("p", { class: "note" }, set_words(note)) : null),
    children,
  );
}

/** Charts side by side, as many as fit. `least`: minimum width of one chart in pixels. */
export function row(least: 250 | 340 | 460, ...children: (Node | null)[]): HTMLElement {
  return h("div", { class: `row row-${least}` }, children);
}

/** Charts in equal columns of at least `least` pixels. Uses fewer columns if that fills all rows. */
export function uniform_row({ width }: Context, least: number, ...children: (Node | null)[]): HTMLElement {
  const place = h("div", { class: "row" }, children);
  const set_columns = (room: number) => {
    place.style.gridTemplateColumns = `repeat(${column_count(place.childElementCount, room, least)}, minmax(0, 1fr))`;
  };
  const gutters = 48; // estimate, corrected below once the element is on the page
  set_columns(width - gutters);
  new ResizeObserver(() => {
    set_columns(place.clientWidth);
    draw_frames();
  }).observe(place);
  return place;
}

export interface Choice {
  value: string;
  label: Words;
}

/** Buttons, one of which is selected. */
export function choice(label: string, choices: readonly Choice[], chosen: string, choose: (value: string) => void): HTMLElement {
  return h(
    "div",
    { class: "choice", role: "group", "aria-label": label },
    choices.map(({ value, label: words }) =>
      h(
        "button",
        { type: "button", "data-value": value, "aria-pressed": value === chosen ? "true" : "false", onclick: () => choose(value) },
        set_words(words),
      ),
    ),
  );
}

/** Buttons, any number of which can be selected. */
export function chips(
  label: string,
  choices: readonly Choice[],
  chosen: ReadonlySet<string>,
  choose: (values: string[]) => void,
): HTMLElement {
  const toggled = (value: string) => choices.map((each) => each.value).filter((each) => chosen.has(each) !== (each === value));
  return h(
    "div",
    { class: "chips", role: "group", "aria-label": label },
    h("span", { class: "chips-label", "aria-hidden": "true" }, label),
    choices.map(({ value, label: words }) =>
      h(
        "button",
        {
          type: "button",
          "data-value": value,
          "aria-pressed": chosen.has(value) ? "true" : "false",
          onclick: () => choose(toggled(value)),
        },
        set_words(words),
      ),
    ),
  );
}

export function controls(...children: (Node | null)[]): HTMLElement {
  return h("div", { class: "controls" }, children);
}

/** A command that wraps between words, not after dashes. Keeps the line breaks of quoted texts. */
export const command_words = (command: string): HTMLElement =>
  h(
    "code",
    {},
    command.split(/([ \n])/).map((part, index) => (index % 2 === 1 ? part : h("span", {}, part))),
  );

/** What a command does with a missing result. Only a new report contains it; other commands print it. */
export const makes_words = (command: string): string => (command.startsWith("attnscope report ") ? "To add it" : "To compute it");

/** Placeholder for results that are not in the report, with the commands that add or compute them. */
export function absent(what: string, ...commands: string[]): HTMLElement {
  const makes = commands[0] === undefined ? "" : ` ${makes_words(commands[0])}, run:`;
  return h("div", { class: "absent" }, h("p", {}, `Not in this report: ${what}.${makes}`), commands.map(command_words));
}

/** The same for attention maps. */
export function absent_maps({ report, model }: Context): HTMLElement {
  const skipped = report.file.skipped.find((each) => each.part === "maps" && each.model === model.name);
  if (!skipped) return absent("attention maps of all heads", "attnscope report MODEL --text-file FILE -o report.html");
  return absent(`attention maps of all heads (${skipped.why})`, ...[skipped.command ?? []].flat());
}

// A served page can start missing analyses; a page from a file cannot.
type Offer = (id: AnalysisId, models: readonly Model[]) => HTMLElement | null;
let offer: Offer | undefined;

export const offer_analyses = (make: Offer): void => void (offer = make);

/** The same for an analysis of the given models, with the reason and, in served pages, a button that starts it. */
export function absent_analysis(context: Context, what: string, id: AnalysisId, models: readonly Model[] = [context.model]): HTMLElement {
  const { why, commands } = missing_analysis(context.report, models, id);
  const box = absent(why === undefined ? what : `${what} (${why})`, ...commands);
  const button = offer?.(id, models);
  if (button) box.append(button);
  return box;
}

/**
 * A yellow line for each note and each reason for skipping; null if there are none. If several analyses skip a matrix for the same reason,
 * it is shown once.
 */
export function skipped_lines(context: Context, ...ids: AnalysisId[]): HTMLElement | null {
  const parts = context.report.file.reports.filter((each) => each.model === context.model.name && ids.includes(each.id));
  const skipped = parts.flatMap((part) => part.skipped);
  const place = ({ layer, matrix, head }: Skipped) =>
    [plain(matrix_words(matrix as Matrix)), layer === null ? "" : place_words({ layer, matrix, head })].filter(Boolean).join(", ");
  const lines = [
    ...new Set([...parts.flatMap((part) => part.notes ?? []), ...skipped.map((each) => `Skipped: ${place(each)}: ${each.reason}`)]),
  ];
  if (lines.length === 0) return null;
  const shown = lines.slice(0, 3).map((line) => h("p", { class: "skipped" }, line));
  const more = lines.length - shown.length;
  return h("div", {}, shown, more > 0 ? h("p", { class: "skipped" }, `${more} more, listed in the Data view.`) : null);
}
