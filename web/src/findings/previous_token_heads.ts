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
  guard: `at least ${percent(kLeast)} of the attention, by more than 2 standard errors; a text of at least ${kShortestText} tokens`,
  chance: "uniform attention",
  experiment: "recomputation from the saved maps; random models; a head built to attend to the previous token; ablation of such a head",
  result:
    "maps: equal; random models: not shown; built head: found. Ranked by loss increase, the strongest previous-token head is 1st of 36 " +
    "(gpt2) and 3rd (llama): the finding describes attention, not importance",
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
