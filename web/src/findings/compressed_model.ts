// The compressed model that saves most at a small cost in perplexity.
import { format_number } from "../chart/number_format";
import { parameters_of } from "../data/report";
import { kSavings, method_rows, rise_percent, saved_share, type Saving } from "../shaping/method_comparison";
import { strong } from "../shaping/shared_words";
import { at_least_percent, type Claim, type Kind, percent } from "./finding";

const kLeastSaved: Readonly<Record<Saving, number>> = { parameters: 0.1, cache: 0.25 };
const kMostRise = 5; // percent
const kMoreWork = 1.1; // relative FLOPs above which they are mentioned
const kFewestTokens = 2000; // a perplexity over fewer tokens is too noisy

const kWords: Readonly<Record<Saving, string>> = { parameters: "fewer parameters", cache: "less KV cache" };

export const claim: Claim = {
  sentence: "`… fewer parameters (less KV cache) for … perplexity on the evaluation text`",
  guard:
    `Compression removes at least ${percent(kLeastSaved.parameters)} of the parameters or ${percent(kLeastSaved.cache)} of the KV cache. ` +
    `The perplexity rises by at most ${kMostRise}%. The evaluation text has at least ${kFewestTokens} tokens`,
  chance: "the unmodified model",
  experiment: "the compressed model, built and run on the evaluation text; a random model",
  result: "compressed model: the finding states the measured perplexity. Random model: not shown",
};

export const compressed_model: Kind = (reading) => {
  const { eval_windows, eval_sequences, length } = (parameters_of(reading.report, "plan", reading.model.name) ?? {}) as Record<
    string,
    number | undefined
  >;
  const tokens = Math.min(eval_windows ?? 0, eval_sequences ?? 0) * (length ?? 0);
  if (tokens < kFewestTokens) return undefined;
  const rows = method_rows(reading);
  const all = kSavings.flatMap((saving) =>
    rows
      .map((row, index) => ({ row, index, saving, saved: saved_share(reading, row, saving), rise: rise_percent(row) }))
      .filter(({ row, saved, rise }) => row.loadable && saved >= kLeastSaved[saving] && rise <= kMostRise),
  );
  const best = all.sort((a, b) => b.saved - a.saved || a.rise - b.rise)[0];
  if (!best) return undefined;
  const { row, index, saving, saved, rise } = best;
  return {
    kind: "compressed_model",
    figure: at_least_percent(saved),
    unit: kWords[saving],
    words: [
      "for ",
      strong(`${format_number(rise, "+.1f")}%`),
      ` perplexity on the evaluation text. Method: ${row.method}, `,
      strong(row.description),
      ", without retraining. The model loads in stock transformers.",
      row.relative_flops > kMoreWork
        ? ` Generating a token takes ${format_number(row.relative_flops, "percent")} of the original FLOPs.`
        : "",
    ],
    distance: saved,
    see: { view: "plan", state: { p: index, of: saving } },
  };
};
