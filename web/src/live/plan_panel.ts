// Input of a calibration text, for served pages.
import type { Context } from "../page/view";
import { h } from "../page/elements";
import { file_choice, kTextTypes, text_of, type ChosenFile } from "./file_choice";
import { job_controls, run_button } from "./job_controls";
import { run_job } from "./jobs";

const kPlan = "plan";
const kept: ChosenFile = { said: "" };

/** Panel at the top of Plan. Null in a page from a file, for models without text input, and for stacks, which need two texts. */
export function plan_panel({ report, model }: Context): HTMLElement | null {
  if (!report.live || (model.reads ?? "texts") !== "texts" || model.stack) return null;
  const start = () => {
    if (kept.content !== undefined) run_job(kPlan, "/api/plan", { model: model.name, text: kept.content });
  };
  const run = run_button(kept.content === undefined, start);
  const judge = () => void (run.disabled = kept.content === undefined);
  const [input, said] = file_choice(kept, { label: "calibration text", types: kTextTypes }, text_of, judge);
  return h(
    "div",
    { class: "live" },
    h(
      "div",
      { class: "live-file" },
      h(
        "p",
        {},
        "Choose a calibration text that is typical for the model. Compression is calibrated on it; perplexity is measured on " +
          "its last tenth.",
      ),
      input,
      said,
    ),
    h("div", { class: "live-side" }, job_controls(run, kPlan)),
  );
}
