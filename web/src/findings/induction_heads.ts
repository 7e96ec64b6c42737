// Induction heads: they attend to the token after an earlier occurrence of the current token.
import { format_number } from "../chart/number_format";
import { parameters_of, rows_of } from "../data/report";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, type Kind, percent, reads_one_way, small_percent } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

const kShortestBlock = 10; // in shorter blocks, the induction target is too close to the previous token

const kLeast = 0.25;

export const claim: Claim = {
  sentence: "`… heads are induction heads`",
  guard:
    `The head puts at least ${percent(kLeast)} of its attention on the induction target, exceeded by more than 2 standard errors. The ` +
    `repeated blocks have at least ${kShortestBlock} tokens`,
  chance: "uniform attention",
  experiment: "random models; a model trained on repeated sequences, with one head ablated at a time",
  result:
    "random models: not shown. Trained model: its induction heads are found. They depend on the previous-token head through their keys " +
    "([notebook](notebooks/induction_circuit.md))",
};

export const induction_heads: Kind = (reading) => {
  const { report, model } = reading;
  const length = parameters_of(report, "induction", model.name)?.length; // both halves together
  if (typeof length !== "number" || !reads_one_way(reading)) return undefined;
  const block = length / 2;
  if (block < kShortestBlock) return undefined;
  const rows = rows_of(report, "induction", model.name);
  const found = strongest_heads(
    rows,
    kLeast,
    (row) => row.induction,
    (row) => row.induction_error,
  );
  if (!found) return undefined;
  const uniform = found.best.uniform_induction;
  return {
    kind: "induction_heads",
    ...head_count(found, "is an induction head", "are induction heads"),
    words: [
      "Strongest: ",
      ...head_words(found.best),
      " puts ",
      strong(format_number(found.most, "percent")),
      " of its attention on the token after the previous occurrence (uniform: ",
      strong(small_percent(uniform)),
      `). Input: repeated random tokens. Threshold: ${percent(kLeast)}.`,
    ],
    spark: head_spark(
      model.layers,
      rows,
      (row) => row.induction,
      (row) => row.uniform_induction,
    ),
    distance: between(uniform, found.most, 1),
    see: { view: "attention", state: { l: found.best.layer, h: found.best.head } },
  };
};
