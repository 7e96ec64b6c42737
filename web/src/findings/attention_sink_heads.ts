// Heads that leave most of their attention on the first token.
import { format_number } from "../chart/number_format";
import { rows_of } from "../data/report";
import type { AttentionHeadRow } from "../data/report_file";
import { text_length } from "../shaping/texts";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, type Kind, kShortestText, small_percent } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

const kLeast = 0.5;

export const claim: Claim = {
  sentence: "`… heads park on the first token`",
  guard: `${kLeast} of the weight, beyond two standard errors; text of ${kShortestText} tokens`,
  chance: "even attention",
  experiment: "random models; heads built to look at the first place",
  result: "silent; found. It describes these maps",
};

export const attention_sink_heads: Kind = (reading) => {
  const { report, model } = reading;
  const tokens = text_length(reading);
  const rows = rows_of(report, "attention", model.name).filter((row): row is AttentionHeadRow => row.head !== null);
  const found = strongest_heads(
    rows,
    kLeast,
    (row) => row.sink_mass,
    (row) => row.sink_mass_error,
  );
  const even = found?.best.uniform_sink_mass;
  if (!found || even === undefined || tokens < kShortestText) return undefined;
  return {
    kind: "sink",
    ...head_count(found, "parks on the first token", "park on the first token"),
    words: [
      "At least half of ",
      found.count === 1 ? "its" : "their",
      " attention goes there, and ",
      strong(format_number(found.most, "percent")),
      " in ",
      ...head_words(found.best),
      ". Even attention over ",
      strong(tokens),
      " tokens gives the first ",
      strong(small_percent(even)),
      ".",
    ],
    spark: head_spark(
      model.layers,
      rows,
      (row) => row.sink_mass,
      (row) => row.uniform_sink_mass,
    ),
    distance: between(even, found.most, 1),
    see: { view: "attention", state: { l: found.best.layer, h: found.best.head } },
  };
};
