// The head that a text's loss needs most: measured, each head replaced alone. Of a model that foretells no better than chance nothing is
// said: heads of random weights move its loss up as well as down, by chance, and some far.
import { largest, largest_by_layer } from "../data/numbers";
import { rows_of } from "../data/report";
import { attention_heads } from "../shaping/head_grid";
import { strong, head_words } from "../shaping/words";
import { between, type Claim, type Kind } from "./finding";

/** Nats. What is worth less is no head to begin with. */
const kLeast = 0.01;

/** Standard errors that the largest of so many heads hardly exceeds by chance. */
const chance_errors = (heads: number): number => Math.sqrt(2 * Math.log(Math.max(2, heads))) + 1;

export const claim: Claim = {
  sentence: "`… nats is what the loss rises by without head …`",
  guard:
    `${kLeast} nats, and beyond what the largest of so many heads reaches by chance, √(2 ln n) + 1 standard errors; of ` +
    "a model whose loss is below ln V",
  chance: "a head that does nothing: 0; heads of random models move its loss both ways",
  experiment: "it is one: each head replaced by its mean while the model runs; the same with PyTorch hooks; random models",
  result:
    "equal to 10⁻⁵; zero and mean agree on the order (rank correlation .88 gpt2, .99 llama), mean and resampled too " +
    "(.94, .98). Without the last two guards a head of two random models in three seemed to matter",
};

export const head_that_matters: Kind = ({ report, model }) => {
  const heads = rows_of(report, "ablate", model.name).flatMap((row) =>
    row.component === "head" && row.head !== null && row.loss_increase_error !== null
      ? [{ ...row, head: row.head, error: row.loss_increase_error }]
      : [],
  );
  const beyond = heads.filter((row) => row.loss_increase > 2 * row.error);
  const found = largest(beyond, (row) => row.loss_increase);
  if (!found || found.value < Math.max(kLeast, chance_errors(heads.length) * found.row.error)) return undefined;
  const { row: best, value } = found;
  if (!model.vocabulary || best.loss >= Math.log(model.vocabulary)) return undefined;
  const map = attention_heads(report, model.name).find((row) => row.layer === best.layer && row.head === best.head);
  const one_back = map && (map.previous_token ?? 0) - 2 * (map.previous_token_error ?? 0) >= 0.5;
  return {
    kind: "matters",
    figure: `+${value.toFixed(value < 0.1 ? 3 : 2)}`,
    unit: "nats",
    words: [
      "is what the loss of ",
      strong(best.loss.toFixed(2)),
      " rises by on the text without ",
      ...head_words(best),
      ` (±${best.error.toFixed(value < 0.1 ? 3 : 2)}), the most of any head.`,
      one_back ? " It looks one back." : "",
      ` ${beyond.length} of ${heads.length} heads matter beyond two standard errors, each alone.`,
    ],
    spark: { values: largest_by_layer(model.layers, heads, (row) => row.loss_increase), null_values: 0, colour: "accent" },
    distance: Math.min(1, between(0, value, best.loss)),
    see: { view: "matters", state: { l: best.layer, h: best.head } },
  };
};
