// The form of a smaller model that costs least for what it saves, where it costs little.
import { format_number } from "../chart/number_format";
import { parameters_of } from "../data/report";
import { kSavings, method_rows, rise_percent, saved_share, type Saving } from "../shaping/method_comparison";
import { strong } from "../shaping/shared_words";
import { at_least_percent, type Claim, type Kind, percent } from "./finding";

const kLeastSaved: Readonly<Record<Saving, number>> = { parameters: 0.1, cache: 0.25 };
const kMostRise = 5; // percent
const kMoreWork = 1.1; // from here on it is said
const kFewestTokens = 2000; // a perplexity of fewer is too rough for such differences

const kWords: Readonly<Record<Saving, string>> = { parameters: "fewer parameters", cache: "less KV cache" };

export const claim: Claim = {
  sentence: "`… fewer parameters (less KV cache) can be had for a perplexity of …`",
  guard:
    `${percent(kLeastSaved.parameters)} of the parameters or ${percent(kLeastSaved.cache)} of the cache, for ` +
    `${kMostRise} % of perplexity at most; held-out text of ${kFewestTokens} tokens`,
  chance: "the whole model",
  experiment: "it is one: the smaller model is made and run on held-out text; a random model",
  result: "measured; silent",
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
    kind: "smaller_model",
    figure: at_least_percent(saved),
    unit: `${kWords[saving]} can be had`,
    words: [
      "for a perplexity of ",
      strong(`${format_number(rise, "+.1f")}\u202f%`),
      ` on held-out text: ${row.form}, `,
      strong(row.choice),
      ", measured; stock transformers loads it",
      row.work > kMoreWork ? `, and takes ${format_number(row.work, "percent")} of the work to generate a token` : "",
      "; nothing was trained anew.",
    ],
    distance: saved,
    see: { view: "plan", state: { p: index, of: saving } },
  };
};
