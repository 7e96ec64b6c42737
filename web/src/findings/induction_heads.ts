// Heads that look for what followed when this token came before.
import { format_number } from "../chart/number_format";
import { parameters_of, rows_of } from "../data/report";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, type Kind, reads_one_way, small_percent } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

const kShortestBlock = 10; // of shorter ones, the token sought is too near to the token before

const kLeast = 0.25;

export const claim: Claim = {
  sentence: "`… heads do induction`",
  guard: `${kLeast} of the weight, beyond two standard errors; blocks of ${kShortestBlock} tokens`,
  chance: "even attention",
  experiment: "random models; a model trained to repeat, its heads taken away one by one",
  result:
    "silent; its induction heads are found, and live on the previous-token head by their keys ([notebook](notebooks/induction_circuit.md))",
};

export const induction_heads: Kind = (reading) => {
  const { report, model } = reading;
  const length = parameters_of(report, "induction", model.name)?.length; // of both halves
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
  const even = found.best.uniform_induction;
  return {
    kind: "induction",
    ...head_count(found, "does induction", "do induction"),
    words: [
      "Where random tokens repeat, at least a quarter of ",
      found.count === 1 ? "its" : "their",
      " attention is on what followed the time before, and ",
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
      (row) => row.induction,
      (row) => row.uniform_induction,
    ),
    distance: between(even, found.most, 1),
    see: { view: "attention", state: { l: found.best.layer, h: found.best.head } },
  };
};
