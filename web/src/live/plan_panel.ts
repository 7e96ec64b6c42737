// The text that smaller models are fitted to, of a served page.
import type { Context } from "../page/view";
import { h } from "../page/elements";
import { file_choice, kTextTypes, text_of, type ChosenFile } from "./file_choice";
import { job_controls, run_button } from "./job_controls";
import { run_job } from "./jobs";

const kPlan = "plan";
const kept: ChosenFile = { said: "" };

/** On top of Plan; null in a page from a file, of models that read no texts, and of stacks, whose plans need two. */
export function plan_panel({ report, model }: Context): HTMLElement | null {
  if (!report.live || (model.reads ?? "texts") !== "texts" || model.stack) return null;
  const start = () => {
    if (kept.content !== undefined) run_job(kPlan, "/api/plan", { model: model.name, text: kept.content });
  };
  const run = run_button(kept.content === undefined, start);
  const judge = () => void (run.disabled = kept.content === undefined);
  const [input, said] = file_choice(kept, { label: "a text to fit to", types: kTextTypes }, text_of, judge);
  return h(
    "div",
    { class: "live" },
    h(
      "div",
      { class: "live-file" },
      h(
        "p",
        {},
        "Choose a file with a text of the kind the model is for: smaller models are fitted to it, and measured on its last tenth.",
      ),
      input,
      said,
    ),
    h("div", { class: "live-side" }, job_controls(run, kPlan)),
  );
}
