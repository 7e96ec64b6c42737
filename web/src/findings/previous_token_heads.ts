// Heads that look at the token before.
import { format_number } from "../chart/number_format";
import { rows_of } from "../data/report";
import type { AttentionHeadRow } from "../data/report_file";
import { text_length } from "../shaping/texts";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, type Kind, kShortestText, small_percent } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

const kLeast = 0.5;

export const claim: Claim = {
  sentence: "`… heads look one back`",
  guard: `${kLeast} of the weight, beyond two standard errors; text of ${kShortestText} tokens`,
  chance: "even attention",
  experiment: "the maps, read again from the run; random models; a head built to look one back; does such a head matter?",
  result:
    "equal; silent; found. By loss increase the head that looks back most is 1st of 36 in gpt2, 3rd in llama: it " +
    "describes, and does not say `matters`",
};

export const previous_token_heads: Kind = (reading) => {
  const { report, model } = reading;
  const tokens = text_length(reading);
  const rows = rows_of(report, "attention", model.name).filter((row): row is AttentionHeadRow => row.head !== null);
  const found = strongest_heads(
    rows,
    kLeast,
    (row) => row.previous_token,
    (row) => row.previous_token_error,
  );
  if (!found || tokens < kShortestText) return undefined;
  const even = found.best.uniform_previous_token ?? 0;
  return {
    kind: "previous_token",
    ...head_count(found, "looks one back", "look one back"),
    words: [
      "At least half of ",
      found.count === 1 ? "its" : "their",
      " attention is on the token before, and ",
      strong(format_number(found.most, "percent")),
      " in ",
      ...head_words(found.best),
      ". Even attention gives it ",
      strong(small_percent(even)),
      ".",
    ],
    spark: head_spark(
      model.layers,
      rows,
      (row) => row.previous_token,
      (row) => row.uniform_previous_token,
    ),
    distance: between(even, found.most, 1),
    see: { view: "attention", state: { l: found.best.layer, h: found.best.head } },
  };
};
