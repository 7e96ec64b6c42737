// Controls of a server job: progress, Cancel, or the error message.
import { h } from "../page/elements";
import { cancel, job_of, progress_words, watch_jobs } from "./jobs";

/** `start` is shown while no job in `whats` is running. */
export function job_controls(start: HTMLElement, ...whats: string[]): HTMLElement {
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

export const run_button = (disabled: boolean, start: () => void): HTMLButtonElement =>
  h("button", { type: "button", class: "run", disabled, onclick: start }, "Run");
