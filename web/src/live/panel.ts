// Controls that only a served page has: a text to run, and buttons that start what the report lacks.
import type { Report } from "../data/report";
import type { AnalysisId } from "../data/report_file";
import { h } from "../page/h";
import type { Context } from "../page/view";
import { stacks_of } from "../shaping/stacks";
import { cancel, job_of, progress_words, run_job, watch_jobs } from "./jobs";

/** Progress of a job, Cancel, or why it failed; `start` is shown while none of `whats` runs. */
function job_controls(start: HTMLElement, ...whats: string[]): HTMLElement {
  const current = () => whats.find((each) => job_of(each)?.state === "running") ?? whats.find((each) => job_of(each));
  const bar = h("progress", { "aria-label": "progress" });
  const said = h("span", { class: "job-said", role: "status" });
  const stop = h("button", { type: "button", class: "plain", onclick: () => cancel(current() ?? "") }, "Cancel");
  const box = h("div", { class: "job" }, start, bar, stop, said);
  const show = () => {
    const job = job_of(current() ?? "");
    const running = job?.state === "running";
    start.hidden = running;
    stop.hidden = bar.hidden = !running;
    if (running && job.progress && job.progress.total > 0) {
      bar.max = job.progress.total;
      bar.value = job.progress.done;
    } else bar.removeAttribute("value");
    said.textContent = job?.said ?? (running ? (job.progress ? progress_words(job.progress) : "starting") : "");
    said.classList.toggle("failed", job?.state === "failed");
  };
  const forget = watch_jobs(() => (box.isConnected ? show() : forget()));
  show();
  return box;
}

const kText = "attention";
const kMissing = "missing"; // every analysis that the report lacks

// What is typed and chosen outlives redraws of the view.
let text = "";
let target = "";
let layer = "";
let as: "text" | "tokens" = "text";
let file: { name: string; base64: string } | undefined;
let file_said = "";

const kMostBytes = 4 << 20; // as the server has it

/** The box on top of Attention for what the model is run on; null in a page from a file. */
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

const run_button = (disabled: boolean, start: () => void): HTMLButtonElement =>
  h("button", { type: "button", class: "run", disabled, title: "Ctrl+Enter", onclick: start }, "Run");

function run_input(model: string, input: object): void {
  run_job(kText, "/api/attention", { model, ...input, without_first: true, ...(layer === "" ? {} : { layers: layer }) });
}

/** A text; of an encoder-decoder its source, and a target beside it. */
function text_panel({ report, model }: Context): HTMLElement {
  const across = stacks_of(report.file.models, model).some(({ stack }) => stack === "decoder");
  const start = () => {
    if (text.trim() === "") return;
    const given = (value: string) => (as === "text" ? value : value.trim());
    const to = target.trim() === "" ? {} : { [as === "text" ? "target" : "target_tokens"]: given(target) };
    run_input(model.name, { [as]: given(text), ...(across ? to : {}) });
  };
  const run = run_button(text.trim() === "", start);
  const area = text_box(
    across ? "the source to run" : "the text to run",
    across ? "Type or paste a source, which the encoder reads." : "Type or paste a text; its attention maps are drawn below.",
    text,
    (typed) => {
      text = typed;
      run.disabled = text.trim() === "";
    },
    start,
  );
  const other = across
    ? text_box("its target", "And its target, which the decoder reads.", target, (typed) => (target = typed), start)
    : null;
  const kinds = h(
    "select",
    {
      "aria-label": "what the box holds",
      onchange: (event: Event) => (as = (event.target as HTMLSelectElement).value === "tokens" ? "tokens" : "text"),
    },
    h("option", { value: "text" }, across ? "texts" : "a text"),
    h("option", { value: "tokens", selected: as === "tokens" }, "token ids"),
  );
  return h(
    "div",
    { class: "live" },
    h("div", { class: "live-texts" }, area, other),
    h("div", { class: "live-side" }, kinds, layers_choice(model.layers), job_controls(run, kText)),
  );
}

const base64_of = (chosen: File): Promise<string> =>
  new Promise((read, failed) => {
    const reader = new FileReader();
    reader.onload = () => read(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => failed(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(chosen);
  });

/** A picture or sound from a file. */
function file_panel({ model }: Context, reads: "images" | "sound"): HTMLElement {
  const [parameter, kind, types] = reads === "images" ? ["image", "a picture", ".png,.jpg,.jpeg"] : ["audio", "a sound", ".wav"];
  const start = () => file && run_input(model.name, { [parameter]: file.base64 });
  const run = run_button(!file, start);
  const said = h("span", { class: "note", role: "status" }, file_said);
  const say = (words: string) => (said.textContent = file_said = words);
  const choose = async (chosen: File | undefined) => {
    if (!chosen) return;
    if (chosen.size > kMostBytes) return void say(`${chosen.name} is over the limit of 4 MiB.`);
    try {
      file = { name: chosen.name, base64: await base64_of(chosen) };
      say(file.name);
      run.disabled = false;
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  const input = h("input", {
    type: "file",
    accept: types,
    "aria-label": `${kind} to run`,
    onchange: (event: Event) => void choose((event.target as HTMLInputElement).files?.[0]),
  });
  return h(
    "div",
    { class: "live" },
    h(
      "div",
      { class: "live-file" },
      h("p", {}, `Choose ${kind}: ${reads === "images" ? "PNG or JPEG" : "WAV, one channel, 16 kHz"}.`),
      input,
      said,
    ),
    h("div", { class: "live-side" }, layers_choice(model.layers), job_controls(run, kText)),
  );
}

// What needs a text is run from the box of text.
const kOfTexts: readonly AnalysisId[] = ["attention", "attention_without_first", "lens", "lens_grid", "ablate", "routing"];

/** The button in the box of a missing analysis. */
export function analysis_button(id: AnalysisId): HTMLElement | null {
  if (kOfTexts.includes(id)) return h("p", {}, "Or run a text in the view Attention or What matters.");
  const run = h("button", { type: "button", class: "run", onclick: () => run_job(id, "/api/analyses", { id }) }, "Run");
  return job_controls(run, id, kMissing);
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
  "read",
];

/** One button for every analysis that the report lacks and that did not fail; null where there is none, and in a page from a file. */
export function missing_button({ file, live }: Report): HTMLElement | null {
  const missing = kStartable.filter((id) => !file.reports.some((each) => each.id === id) && !file.left_out.some(({ part }) => part === id));
  if (!live || missing.length === 0) return null;
  const run = h(
    "button",
    {
      type: "button",
      class: "run",
      title: "the quickest first; each is shown as it ends",
      onclick: () => run_job(kMissing, "/api/analyses", { id: kMissing }),
    },
    "Run everything that is missing",
  );
  return job_controls(run, kMissing);
}
