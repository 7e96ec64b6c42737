// What is to be said in the place of an analysis that a report does not hold.
import type { Report } from "../data/report";
import type { AnalysisId, Model } from "../data/report_file";
import { decoder_of } from "./stacks";

const kCommands: Readonly<Record<AnalysisId, string>> = {
  spectrum: "spectrum MODEL --values --per-head",
  mla: "spectrum MODEL --mla",
  weights: "weights MODEL --histogram --per-head",
  similarity: "similarity MODEL --histogram",
  overlap: "similarity MODEL --overlap",
  circuits: "circuits MODEL",
  composition: "circuits MODEL --composition",
  attention: "attention MODEL --text-file FILE",
  attention_excluding_first: "attention MODEL --text-file FILE --exclude-first-token",
  induction: "attention MODEL --induction",
  experts: "experts MODEL",
  expert_spectra: "spectrum MODEL --matrix gate,up,down",
  routing: "experts MODEL --text-file FILE",
  read: "read MODEL",
  lens: "lens MODEL --text-file FILE",
  lens_grid: 'lens MODEL --grid --text "…"',
  ablate: "ablate MODEL --text-file FILE",
  plan: "plan MODEL --text-file FILE",
  plan_layers: "plan MODEL --text-file FILE --by layers --keep 0.999",
  plan_ranks: "plan MODEL --text-file FILE --by ranks --keep 0.8",
  diff: "diff BASE MODEL",
};

/** What they take beside a source, of stacks of encoder-decoders: losses are of targets. */
const kTargets: Readonly<Partial<Record<AnalysisId, string>>> = {
  lens: "--target-file FILE",
  lens_grid: '--target "…"',
  ablate: "--target-file FILE",
  attention: "--target-file FILE",
  attention_excluding_first: "--target-file FILE",
};

/** They take texts alone, and no token ids. */
const kOfTextsAlone: ReadonlySet<AnalysisId> = new Set(["plan", "plan_layers", "plan_ranks"]);

const kHeadless = "its states reach the output head only through the decoder";

export interface MissingAnalysis {
  why?: string; // as far as the report says so
  commands: string[]; // that bring it; none brings an analysis that is there and found nothing
}

/** Why the report lacks an analysis of these models. In a report of several models each reason names its own. */
export function missing_analysis({ file }: Report, models: readonly Model[], id: AnalysisId): MissingAnalysis {
  const found = models.map((model) => {
    const { name } = model;
    const decoder = decoder_of(file.models, model);
    const usual = decoder && kTargets[id] ? `${kCommands[id]} ${kTargets[id]}` : kCommands[id];
    const left_out_as = (part: AnalysisId) => file.skipped.find((each) => each.part === part && each.model === name);
    const skipped = left_out_as(id);
    const empty_as = (part: AnalysisId) => file.reports.find((each) => each.id === part && each.model === name && each.rows.length === 0);
    // Of matrices none of which can be analysed there is no difference, either.
    const empty = empty_as(id) ?? (id === "diff" ? empty_as("spectrum") : undefined);
    // Where attention has no text to be run on, others have none either, or the one that its command names.
    const without_text = usual.includes("--text-file") && !skipped && !empty ? left_out_as("attention") : undefined;
    const on_its_text = kOfTextsAlone.has(id)
      ? null
      : (without_text?.command?.replace(/^(attnscope) \w+/, `$1 ${usual.split(" ")[0]}`) ?? null);
    const headless = decoder !== undefined && decoder.name !== name && (id === "lens" || id === "lens_grid");
    const why = headless ? kHeadless : ((skipped ?? without_text)?.why ?? empty?.skipped[0]?.reason);
    const command = headless ? null : skipped ? skipped.command : empty ? null : without_text ? on_its_text : `attnscope ${usual}`;
    return { why: why && file.models.length > 1 ? `${name}: ${why}` : why, command };
  });
  const reasons = found.flatMap(({ why }) => why ?? []);
  const commands = [...new Set(found.flatMap(({ command }) => command ?? []))];
  return { commands, ...(reasons.length > 0 ? { why: reasons.join("; ") } : {}) };
}
