// Message and command for an analysis that is missing from the report.
import type { Report } from "../data/report";
import type { AnalysisId, AnyModel, Model } from "../data/report_file";
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
  directions: "directions MODEL",
  lens: "lens MODEL --text-file FILE",
  lens_grid: 'lens MODEL --grid --text "…"',
  ablate: "ablate MODEL --text-file FILE",
  ablate_pairs: "ablate MODEL --text-file FILE --pairs 12",
  ablate_cumulative: "ablate MODEL --text-file FILE --cumulative",
  // One report has all three.
  ablate_prompts: "report MODEL --prompts FILE -o report.html",
  ablate_patching: "report MODEL --prompts FILE -o report.html",
  ablate_path: "report MODEL --prompts FILE -o report.html",
  plan: "plan MODEL --calibration-file FILE",
  plan_layers: "plan MODEL --calibration-file FILE --method depth --keep 0.999",
  plan_ranks: "plan MODEL --calibration-file FILE --method low-rank --keep 0.8",
  diff: "diff BASE MODEL",
};

/** Additional options for encoder-decoders, whose losses are over target texts. */
const kTargets: Readonly<Partial<Record<AnalysisId, string>>> = {
  lens: "--target-file FILE",
  lens_grid: '--target "…"',
  ablate: "--target-file FILE",
  attention: "--target-file FILE",
  attention_excluding_first: "--target-file FILE",
};

/** Analyses that accept text only, not token ids. */
const kOfTextsAlone: ReadonlySet<AnalysisId> = new Set([
  "plan",
  "plan_layers",
  "plan_ranks",
  "ablate_prompts",
  "ablate_patching",
  "ablate_path",
]);

const kNeedsText = /--(text-file|calibration-file|prompts)/;

const kHeadless = "its states reach the LM head only through the decoder";

/** Why a model takes no analysis of this kind, whatever its input. Undefined: it may take it. */
function unsupported(id: AnalysisId, model: Model, decoder: AnyModel | undefined): string | undefined {
  if (decoder && decoder.name !== model.name && (id === "lens" || id === "lens_grid")) return kHeadless;
  if (!kCommands[id].includes("--prompts")) return undefined;
  if (decoder) return "prompts of encoder-decoders are not supported";
  return model.causal ? undefined : "the model is bidirectional and does not predict next tokens";
}

export interface MissingAnalysis {
  why?: string; // reason, if the report has one
  commands: string[]; // commands that add it; empty if the analysis ran and found nothing
}

/** Why the report lacks an analysis for these models. With several models, each reason starts with the model's name. */
export function missing_analysis({ file }: Report, models: readonly Model[], id: AnalysisId): MissingAnalysis {
  const found = models.map((model) => {
    const { name } = model;
    const decoder = decoder_of(file.models, model);
    const usual = decoder && kTargets[id] ? `${kCommands[id]} ${kTargets[id]}` : kCommands[id];
    const skipped_as = (part: AnalysisId) => file.skipped.find((each) => each.part === part && each.model === name);
    const skipped = skipped_as(id);
    const empty_as = (part: AnalysisId) => file.reports.find((each) => each.id === part && each.model === name && each.rows.length === 0);
    // If no matrix can be analyzed, there is no diff either.
    const empty = empty_as(id) ?? (id === "diff" ? empty_as("spectrum") : undefined);
    // If attention has no text, other analyses have none either, or the text in attention's command.
    const without_text = kNeedsText.test(usual) && !skipped && !empty ? skipped_as("attention") : undefined;
    const on_its_text = kOfTextsAlone.has(id)
      ? null
      : (without_text?.command?.replace(/^(attnscope) \w+/, `$1 ${usual.split(" ")[0]}`) ?? null);
    const refused = unsupported(id, model, decoder);
    const why = refused ?? (skipped ?? without_text)?.why ?? empty?.skipped[0]?.reason;
    const command = refused ? null : skipped ? skipped.command : empty ? null : without_text ? on_its_text : `attnscope ${usual}`;
    return { why: why && file.models.length > 1 ? `${name}: ${why}` : why, command };
  });
  const reasons = found.flatMap(({ why }) => why ?? []);
  const commands = [...new Set(found.flatMap(({ command }) => command ?? []))];
  return { commands, ...(reasons.length > 0 ? { why: reasons.join("; ") } : {}) };
}
