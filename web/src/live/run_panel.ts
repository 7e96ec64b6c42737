// Controls of served pages: input to run, and buttons that start missing analyses.
import type { Report } from "../data/report";
import type { AnalysisId, AnyModel } from "../data/report_file";
import { h } from "../page/elements";
import type { Context } from "../page/view";
import { decoder_of, stacks_of } from "../shaping/stacks";
import { base64_of, file_choice, kTextTypes, text_of, type ChosenFile } from "./file_choice";
import { job_controls, run_button } from "./job_controls";
import { run_job } from "./jobs";

const kText = "attention";
const kMissing = "missing"; // all missing analyses

// Input survives redraws of the view.
let text = "";
let pair = "";
let target = "";
let layer = "";
let as: "text" | "tokens" | "file" = "text";
const media_file: ChosenFile = { said: "" };
const long_text: ChosenFile = { said: "" };

/** Input panel at the top of Attention. Null in a page from a file. */
export function live_panel(context: Context): HTMLElement | null {
  if (!context.report.live) return null;
  const { reads = "texts" } = context.model;
  return reads === "texts" ? text_panel(context) : file_panel(context, reads);
}

const text_box = (label: string, placeholder: string, value: string, typed: (value: string) => void, start: () => void) => {
  const area = h("textarea", {
    rows: 3,
    "aria-label": label,
    placeholder,
    spellcheck: "false",
    oninput: (event: Event) => typed((event.target as HTMLTextAreaElement).value),
    onkeydown: (event: KeyboardEvent) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start();
    },
  });
  area.value = value;
  return area;
};

const layers_choice = (count: number): HTMLElement =>
  h(
    "select",
    { "aria-label": "layers to run", onchange: (event: Event) => (layer = (event.target as HTMLSelectElement).value) },
    h("option", { value: "" }, "all layers"),
    Array.from({ length: count }, (_, index) => h("option", { value: index, selected: String(index) === layer }, `layer ${index}`)),
  );

function run_input(model: string, input: object): void {
  run_job(kText, "/api/attention", { model, ...input, exclude_first_token: true, ...(layer === "" ? {} : { layers: layer }) });
}

/** What is typed into the text boxes. */
export interface Typed {
  as: "text" | "tokens";
  text: string;
  pair: string; // second text of a pair
  target: string; // of an encoder-decoder
}

/** The box next to the text: the target of an encoder-decoder, or the second text for models that take pairs of texts. */
export const second_box = ({ pairs }: AnyModel, across: boolean): "target" | "pair" | undefined =>
  across ? "target" : pairs ? "pair" : undefined;

/** Parameters of a run. An empty second box adds none, and token ids have no second text. */
export function typed_input(typed: Typed, second: "target" | "pair" | undefined): Record<string, string> {
  const is_text = typed.as === "text";
  const given = (value: string) => (is_text ? value : value.trim());
  const input = { [typed.as]: given(typed.text) };
  if (second === undefined || typed[second].trim() === "") return input;
  if (second === "target") return { ...input, [is_text ? "target" : "target_tokens"]: given(typed.target) };
  return is_text ? { ...input, text_pair: typed.pair } : input;
}

/** Text input; for encoder-decoders, a source and a target; for models that take pairs, one or two texts. */
function text_panel({ report, model }: Context): HTMLElement {
  const across = stacks_of(report.file.models, model).some(({ stack }) => stack === "decoder");
  const second = second_box(model, across);
  const can_run = () => (as === "file" ? long_text.content !== undefined : text.trim() !== "");
  const start = () => {
    if (!can_run()) return;
    if (as === "file") return run_input(model.name, { long_text: long_text.content });
    run_input(model.name, typed_input({ as, text, pair, target }, second));
  };
  const run = run_button(!can_run(), start);
  const judge = () => {
    run.disabled = !can_run();
    run.title = as === "file" ? "" : "Ctrl+Enter"; // shortcut of the text boxes
  };
  const area = text_box(
    across ? "source text to run" : "text to run",
    across ? "Type or paste the source text (encoder input)." : "Type or paste a text. Its attention maps are drawn below.",
    text,
    (typed) => {
      text = typed;
      judge();
    },
    start,
  );
  const chosen = h(
    "div",
    { class: "live-file" },
    h("p", {}, "Choose a text file (UTF-8). It is run in several windows, so that ablation effects have standard errors."),
    file_choice(long_text, { label: "text file to run", types: kTextTypes }, text_of, judge),
  );
  const show = () => {
    area.hidden = as === "file";
    chosen.hidden = as !== "file";
    if (other && second === "pair") other.hidden = as !== "text";
    judge();
  };
  const other =
    second === "target"
      ? text_box("target text", "Type or paste the target text (decoder input).", target, (typed) => (target = typed), start)
      : second === "pair"
        ? text_box("second text", "Optional: the second text of a pair.", pair, (typed) => (pair = typed), start)
        : null;
  const kinds = h(
    "select",
    {
      "aria-label": "input type",
      onchange: (event: Event) => {
        as = (["tokens", "file"] as const).find((each) => each === (event.target as HTMLSelectElement).value) ?? "text";
        show();
      },
    },
    h("option", { value: "text" }, "text"),
    h("option", { value: "tokens", selected: as === "tokens" }, "token ids"),
    across ? null : h("option", { value: "file", selected: as === "file" }, "text file"),
  );
  if (across && as === "file") as = "text";
  show();
  return h(
    "div",
    { class: "live" },
    h("div", { class: "live-texts" }, area, chosen, other),
    h("div", { class: "live-side" }, kinds, layers_choice(model.layers), job_controls(run, kText)),
  );
}

/** Image or audio input from a file. */
function file_panel({ model }: Context, reads: "images" | "sound"): HTMLElement {
  const [parameter, kind, types] = reads === "images" ? ["image", "an image", ".png,.jpg,.jpeg"] : ["audio", "an audio file", ".wav"];
  const start = () => {
    if (media_file.content !== undefined) run_input(model.name, { [parameter]: media_file.content });
  };
  const run = run_button(media_file.content === undefined, start);
  const judge = () => void (run.disabled = media_file.content === undefined);
  const [input, said] = file_choice(media_file, { label: `${kind} to run`, types }, base64_of, judge);
  return h(
    "div",
    { class: "live" },
    h(
      "div",
      { class: "live-file" },
      h("p", {}, `Choose ${kind}: ${reads === "images" ? "PNG or JPEG" : "WAV, mono, 16 kHz"}.`),
      input,
      said,
    ),
    h("div", { class: "live-side" }, layers_choice(model.layers), job_controls(run, kText)),
  );
}

// Analyses that run together with a text, and analyses that can run once there is a text.
const kWithText: readonly AnalysisId[] = ["attention", "attention_excluding_first", "lens_grid", "routing"];
const kOfItsText: readonly AnalysisId[] = ["lens", "ablate"];
// In encoder-decoders, only the decoder has these.
const kHeadOfDecoder: readonly AnalysisId[] = ["lens", "lens_grid"];
// Started from another panel, or only from the command line.
const kElsewhere: readonly AnalysisId[] = ["plan", "plan_layers", "plan_ranks", "diff"];

/** The button in the placeholder of a missing analysis. */
export function analysis_button(id: AnalysisId, { file }: Report, models: readonly AnyModel[]): HTMLElement | null {
  if (kElsewhere.includes(id)) return null;
  // The last run may have used another model, or no target for an encoder-decoder.
  const decoders = models.flatMap((model) => decoder_of(file.models, model) ?? []);
  const readers = kOfItsText.includes(id) && decoders.length > 0 ? decoders : models;
  if (kHeadOfDecoder.includes(id) && decoders.length > 0 && !models.some(({ name }) => decoders.some((decoder) => decoder.name === name)))
    return null;
  const has_text = file.texts.some((text) => readers.some(({ name }) => text.model === name));
  const needs_text = kWithText.includes(id) || (kOfItsText.includes(id) && !has_text);
  const what = readers === models ? "a text" : "a source and a target text";
  if (needs_text) return h("p", {}, `Or run ${what} in the Attention or Importance view.`);
  const run = h("button", { type: "button", class: "run", onclick: () => run_job(id, "/api/analyses", { id }) }, "Run");
  return job_controls(run, id, ...(kOfItsText.includes(id) ? [] : [kMissing]));
}

const kStartable: readonly AnalysisId[] = [
  "spectrum",
  "mla",
  "weights",
  "similarity",
  "overlap",
  "circuits",
  "composition",
  "induction",
  "directions",
];

/** One button that runs all missing analyses that did not fail. Null if there are none, and in a page from a file. */
export function missing_button({ file, live }: Report): HTMLElement | null {
  const missing = kStartable.filter((id) => !file.reports.some((each) => each.id === id) && !file.skipped.some(({ part }) => part === id));
  if (!live || missing.length === 0) return null;
  const run = h(
    "button",
    {
      type: "button",
      class: "run",
      title: "fastest first; results appear as they finish",
      onclick: () => run_job(kMissing, "/api/analyses", { id: kMissing }),
    },
    "Run all missing analyses",
  );
  return job_controls(run, kMissing);
}
