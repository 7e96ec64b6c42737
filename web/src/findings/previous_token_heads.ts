// Previous-token heads.
import { format_number } from "../chart/number_format";
import { rows_of } from "../data/report";
import type { AttentionHeadRow } from "../data/report_file";
import { text_length } from "../shaping/texts";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, type Kind, kShortestText, percent, small_percent } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

const kLeast = 0.5;

export const claim: Claim = {
  sentence: "`… heads are previous-token heads`",
  guard:
    `The head puts at least ${percent(kLeast)} of its attention on the previous token, exceeded by more than 2 standard errors. The text ` +
    `has at least ${kShortestText} tokens`,
  chance: "uniform attention",
  experiment:
    "recomputation from the saved attention maps; random models; a planted head that attends to the previous token; ablation of a " +
    "previous-token head",
  result:
    "recomputation: equal. Random models: not shown. Planted head: found. Among the 36 heads ranked by loss increase, the strongest " +
    "previous-token head is 1st in gpt2 and 3rd in llama. The finding describes attention, not importance",
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
  const uniform = found.best.uniform_previous_token ?? 0;
  return {
    kind: "previous_token_heads",
    ...head_count(found, "is a previous-token head", "are previous-token heads"),
    words: [
      "Strongest: ",
      ...head_words(found.best),
      " puts ",
      strong(format_number(found.most, "percent")),
      " of its attention on the previous token (uniform: ",
      strong(small_percent(uniform)),
      `). Threshold: ${percent(kLeast)}.`,
    ],
    spark: head_spark(
      model.layers,
      rows,
      (row) => row.previous_token,
      (row) => row.uniform_previous_token,
    ),
    distance: between(uniform, found.most, 1),
    see: { view: "attention", state: { l: found.best.layer, h: found.best.head } },
  };
};
