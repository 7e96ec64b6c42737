// The head whose ablation changes the loss on the text most. Not shown if the model predicts no better than chance: ablating random heads
// moves the loss both ways, sometimes by a lot.
import type { Word } from "../chart/rich_text";
import { largest, largest_by_layer } from "../data/numbers";
import { rows_of } from "../data/report";
import type { AblateRow } from "../data/report_file";
import { attention_heads } from "../shaping/head_grid";
import { strong, head_words } from "../shaping/shared_words";
import { type Claim, type Kind } from "./finding";

/** Nats: smallest effect that is shown. */
const kLeast = 0.01;

/** Number of standard errors that the largest of so many heads rarely exceeds by chance. */
export const chance_errors = (heads: number): number => Math.sqrt(2 * Math.log(Math.max(2, heads))) + 1;

type HeadRow = AblateRow & { head: number; loss_increase_error: number };

export const claim: Claim = {
  sentence: "`Ablating … raises (lowers) the loss …, the largest effect of any head`",
  guard:
    `The effect is at least ${kLeast} nats, up or down. It exceeds √(2 ln n) + 1 standard errors, about the largest effect of n heads by ` +
    "chance. The model's loss is below ln V (uniform prediction)",
  chance: "an inactive head: 0. In random models, ablating a head raises or lowers the loss by chance",
  experiment:
    "the same mean ablation with PyTorch hooks; zero and resample ablation; random models; a planted head whose ablation lowers the loss",
  result:
    "PyTorch: equal to within 10⁻⁵. Mean and zero ablation rank the heads similarly (rank correlation 0.93 for gpt2, 0.99 for llama), " +
    "and so do mean and resample ablation (0.91, 0.96). Without the last two conditions, the finding was shown for two of three random " +
    "models. The planted head is found with the correct sign",
};

/** Number of heads with an effect beyond 2 standard errors, by sign. */
function count_words(heads: readonly HeadRow[]): Word[] {
  const beyond = (sign: number) => heads.filter((row) => sign * row.loss_increase > 2 * row.loss_increase_error).length;
  const [up, down] = [beyond(1), beyond(-1)];
  return [
    " Beyond 2 standard errors, ablation raises the loss for ",
    strong(up),
    ` of ${heads.length} ${heads.length === 1 ? "head" : "heads"} and lowers it for `,
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
  if (!best || !model.vocab_size || best.loss >= Math.log(model.vocab_size)) return undefined;
  const value = best.loss_increase;
  const digits = Math.abs(value) < 0.1 ? 3 : 2;
  const map = attention_heads(report, model.name).find((row) => row.layer === best.layer && row.head === best.head);
  const is_previous_token = map && (map.previous_token ?? 0) - 2 * (map.previous_token_error ?? 0) >= 0.5;
  return {
    kind: "important_head",
    figure: `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`,
    unit: "nats of loss",
    words: [
      "Ablating ",
      ...head_words(best),
      ` ${value < 0 ? "lowers" : "raises"} the loss from `,
      strong(best.loss.toFixed(2)),
      " to ",
      strong((best.loss + value).toFixed(2)),
      ` (±${best.loss_increase_error.toFixed(digits)}), the largest effect of any head.`,
      is_previous_token ? " It is a previous-token head." : "",
      ...count_words(heads),
    ],
    spark: { values: largest_by_layer(model.layers, heads, (row) => row.loss_increase), null_values: 0, color: "accent" },
    distance: Math.min(1, Math.abs(value) / best.loss),
    effect: Math.abs(value),
    see: { view: "ablation", state: { l: best.layer, h: best.head } },
  };
};
