// Controls that only a served page has: a text to run, and buttons that start what the report lacks.
import type { Report } from "../data/report";
import type { AnalysisId } from "../data/report_file";
import { h } from "../page/h";
import type { Context } from "../page/view";
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

// Outlives redraws of the view.
let text = "";
let layer = "";
let as: "text" | "tokens" = "text";

/** The box of text on top of Attention; null in a page from a file. */
export function live_panel({ report, model }: Context): HTMLElement | null {
  if (!report.live) return null;
  const area = h("textarea", {
    rows: 3,
    "aria-label": "the text to run",
    placeholder: "Type or paste a text; its attention maps are drawn below.",
    spellcheck: "false",
    oninput: (event: Event) => {
      text = (event.target as HTMLTextAreaElement).value;
      run.disabled = text.trim() === "";
    },
    onkeydown: (event: KeyboardEvent) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start();
    },
  });
  area.value = text;
  const start = () => {
    if (text.trim() !== "")
      run_job(kText, "/api/attention", {
        model: model.name,
        [as]: as === "text" ? text : text.trim(),
        without_first: true,
        ...(layer === "" ? {} : { layers: layer }),
      });
  };
  const layers = h(
    "select",
    { "aria-label": "layers to run", onchange: (event: Event) => (layer = (event.target as HTMLSelectElement).value) },
    h("option", { value: "" }, "all layers"),
    Array.from({ length: model.layers }, (_, index) => h("option", { value: index, selected: String(index) === layer }, `layer ${index}`)),
  );
  const kinds = h(
    "select",
    {
      "aria-label": "what the box holds",
      onchange: (event: Event) => (as = (event.target as HTMLSelectElement).value === "tokens" ? "tokens" : "text"),
    },
    h("option", { value: "text" }, "a text"),
    h("option", { value: "tokens", selected: as === "tokens" }, "token ids"),
  );
  const run = h("button", { type: "button", class: "run", disabled: text.trim() === "", title: "Ctrl+Enter", onclick: start }, "Run");
  return h("div", { class: "live" }, area, h("div", { class: "live-side" }, kinds, layers, job_controls(run, kText)));
}

// What needs a text is run from the box of text.
const kOfTexts: readonly AnalysisId[] = ["attention", "attention_without_first"];

/** The button in the box of a missing analysis. */
export function analysis_button(id: AnalysisId): HTMLElement | null {
  if (kOfTexts.includes(id)) return h("p", {}, "Or run a text in the view Attention.");
  const run = h("button", { type: "button", class: "run", onclick: () => run_job(id, "/api/analyses", { id }) }, "Run");
  return job_controls(run, id, kMissing);
}

const kStartable: readonly AnalysisId[] = ["spectrum", "mla", "weights", "similarity", "overlap", "circuits", "composition", "induction"];

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
