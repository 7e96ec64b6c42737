// Attention-sink heads: most of their attention is on the first token.
import { format_number } from "../chart/number_format";
import { rows_of } from "../data/report";
import type { AttentionHeadRow } from "../data/report_file";
import { text_length } from "../shaping/texts";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, type Kind, kShortestText, percent, small_percent } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

const kLeast = 0.5;

export const claim: Claim = {
  sentence: "`… heads are attention-sink heads`",
  guard:
    `The head puts at least ${percent(kLeast)} of its attention on the first token, exceeded by more than 2 standard errors. The text ` +
    `has at least ${kShortestText} tokens`,
  chance: "uniform attention",
  experiment: "random models; planted heads that attend to the first position",
  result: "random models: not shown. Planted heads: found. The finding describes the attention maps of this text",
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
  const uniform = found?.best.uniform_sink_mass;
  if (!found || uniform === undefined || tokens < kShortestText) return undefined;
  return {
    kind: "attention_sink_heads",
    ...head_count(found, "is an attention-sink head", "are attention-sink heads"),
    words: [
      "Strongest: ",
      ...head_words(found.best),
      " puts ",
      strong(format_number(found.most, "percent")),
      " of its attention on the first token (uniform: ",
      strong(small_percent(uniform)),
      `). Threshold: ${percent(kLeast)}.`,
    ],
    spark: head_spark(
      model.layers,
      rows,
      (row) => row.sink_mass,
      (row) => row.uniform_sink_mass,
    ),
    distance: between(uniform, found.most, 1),
    see: { view: "attention", state: { l: found.best.layer, h: found.best.head } },
  };
};
