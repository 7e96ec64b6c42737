// The head whose ablation changes the loss on the text most. Silent if the model predicts no better than chance: the heads of random
// weights move its loss up as well as down, by chance, and some of them far.
import type { Word } from "../chart/rich_text";
import { largest, largest_by_layer } from "../data/numbers";
import { rows_of } from "../data/report";
import type { AblateRow } from "../data/report_file";
import { attention_heads } from "../shaping/head_grid";
import { strong, head_words } from "../shaping/shared_words";
import { type Claim, type Kind } from "./finding";

/** Nats. A head with a smaller effect does not stand out. */
const kLeast = 0.01;

/** Standard errors that the largest of so many heads hardly exceeds by chance. */
export const chance_errors = (heads: number): number => Math.sqrt(2 * Math.log(Math.max(2, heads))) + 1;

type HeadRow = AblateRow & { head: number; loss_increase_error: number };

export const claim: Claim = {
  sentence: "`±… nats of loss … when head … is ablated, the largest effect of any head`",
  guard:
    `effect of ${kLeast} nats, up or down, and beyond what the largest of so many heads reaches by chance, √(2 ln n) + 1 standard ` +
    "errors; the model's loss is below ln V",
  chance: "a head that does nothing: 0; heads of random models move its loss both ways",
  experiment:
    "it is one: each head replaced by its mean while the model runs; the same with PyTorch hooks; random models; a planted head " +
    "that lowers the loss when ablated",
  result:
    "equal to 10⁻⁵; zero and mean agree on the order (rank correlation .93 gpt2, .99 llama), mean and resampled too " +
    "(.91, .96). Without the last two guards a head of two random models in three seemed to matter. The planted head is named, with " +
    "the sign of its effect",
};

/** Heads beyond two standard errors, by the sign of their effect. */
function count_words(heads: readonly HeadRow[]): Word[] {
  const beyond = (sign: number) => heads.filter((row) => sign * row.loss_increase > 2 * row.loss_increase_error).length;
  const [up, down] = [beyond(1), beyond(-1)];
  return [
    " Beyond two standard errors, ablation raises the loss for ",
    strong(up),
    ` of ${heads.length} ${heads.length === 1 ? "head" : "heads"}, and lowers it for `,
    strong(down),
    ".",
  ];
}

export const important_head: Kind = ({ report, model }) => {
  const heads = rows_of(report, "ablate", model.name).filter(
    (row): row is HeadRow => row.component === "head" && row.head !== null && row.loss_increase_error !== null,
  );
  const clear = heads.filter(
    (row) => Math.abs(row.loss_increase) >= Math.max(kLeast, chance_errors(heads.length) * row.loss_increase_error),
  );
  const best = largest(clear, (row) => Math.abs(row.loss_increase))?.row;
  if (!best || !model.vocabulary || best.loss >= Math.log(model.vocabulary)) return undefined;
  const value = best.loss_increase;
  const digits = Math.abs(value) < 0.1 ? 3 : 2;
  const map = attention_heads(report, model.name).find((row) => row.layer === best.layer && row.head === best.head);
  const is_previous_token = map && (map.previous_token ?? 0) - 2 * (map.previous_token_error ?? 0) >= 0.5;
  return {
    kind: "matters",
    figure: `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`,
    unit: "nats",
    words: [
      "of loss on the text (now ",
      strong(best.loss.toFixed(2)),
      ") when ",
      ...head_words(best),
      ` is ablated (±${best.loss_increase_error.toFixed(digits)}), the largest effect of any head.`,
      value < 0 ? " The text's loss falls without it." : "",
      is_previous_token ? " It is a previous-token head." : "",
      ...count_words(heads),
    ],
    spark: { values: largest_by_layer(model.layers, heads, (row) => row.loss_increase), null_values: 0, colour: "accent" },
    distance: Math.min(1, Math.abs(value) / best.loss),
    effect: Math.abs(value),
    see: { view: "matters", state: { l: best.layer, h: best.head } },
  };
};
