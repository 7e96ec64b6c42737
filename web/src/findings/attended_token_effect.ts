// Heads that raise the logits of the tokens they read, or lower them: measured on the text.
import { format_number } from "../chart/number_format";
import type { Word } from "../chart/rich_text";
import { rows_of } from "../data/report";
import type { AblateRow } from "../data/report_file";
import { attention_heads } from "../shaping/head_grid";
import { text_length } from "../shaping/texts";
import { strong, head_words } from "../shaping/shared_words";
import { between, type Claim, type Kind, kShortestText } from "./finding";
import { head_count, head_spark, strongest_heads } from "./strongest_heads";

/** Logits. Less changes a probability by less than a tenth. */
const kLeast = 0.1;
/** What counts as all there could be: e³ is twenty times as likely. */
const kMost = 3;

/** What the head is worth to the loss: nothing that could not be chance is said as a rise or a fall. */
function effect_words({ loss_increase: value, loss_increase_error: error }: AblateRow): Word[] {
  if (error !== null && Math.abs(value) <= 2 * error) return [" Without that head the loss is the same, within two standard errors."];
  return [` Without that head the loss ${value < 0 ? "falls" : "rises"} by `, strong(Math.abs(value).toFixed(3)), "."];
}

/** 0.07; below 0.005, which would be 0.00, to one figure. */
const error_words = (error: number): string => format_number(error, error < 0.005 ? ".1r" : ".2f");

export const claim: Claim = {
  sentence: "`… heads raise (lower) the tokens they read`",
  guard: `${kLeast} logits, beyond two standard errors over sequences; silent of one sequence`,
  chance: "the text's mean token: a head that raises every frequent token has 0",
  experiment: "the same with PyTorch hooks; random models; heads built to copy, to suppress, and inert; heads taken away",
  result: "equal to 10⁻⁵; silent; the right words, or none. Rank correlation with the effect of taking the head away .66 gpt2, .87 llama",
};

export const attended_token_effect: Kind = (reading) => {
  const { report, model } = reading;
  const rows = attention_heads(report, model.name).filter((row) => typeof row.raises === "number");
  // Of one sequence there is no error, and nothing is said.
  const known = rows.filter((row) => row.attended_token_effect_error !== null);
  if (text_length(reading) < kShortestText) return undefined;
  const error = (row: (typeof rows)[number]) => row.attended_token_effect_error;
  const up = strongest_heads(known, kLeast, (row) => row.raises, error);
  const down = strongest_heads(known, kLeast, (row) => (typeof row.raises === "number" ? -row.raises : null), error);
  const raises = (up?.most ?? 0) >= (down?.most ?? 0);
  const found = raises ? up : down;
  if (!found) return undefined;
  const { best, most, count } = found;
  const opposite = (raises ? down?.count : up?.count) ?? 0;
  const worth = rows_of(report, "ablate", model.name).find((row) => row.layer === best.layer && row.head === best.head);
  const sign = raises ? 1 : -1;
  const does = count === 1 ? `it ${raises ? "adds" : "takes"}` : `they ${raises ? "add" : "take"}`;
  return {
    kind: "raises",
    ...head_count(
      found,
      raises ? "raises the tokens it reads" : "lowers the tokens it reads",
      raises ? "raise the tokens they read" : "lower the tokens they read",
    ),
    words: [
      `On the text ${does} at least ${format_number(kLeast, ".2f")} directly ${raises ? "to" : "from"} the logits of the tokens read, ` +
        "against the text's mean token; most in ",
      ...head_words(best),
      ", ",
      strong(format_number(sign * most, "+.2f")),
      ` ±${error_words(best.attended_token_effect_error ?? 0)}.`,
      ...(worth ? effect_words(worth) : []),
      opposite > 0 ? ` ${opposite} ${opposite === 1 ? "does" : "do"} the reverse.` : "",
    ],
    spark: head_spark(
      model.layers,
      rows,
      (row) => (typeof row.raises === "number" ? sign * row.raises : null),
      () => 0,
      { role: "ov" },
    ),
    distance: Math.min(1, between(0, most, kMost)),
    effect: most,
    see: { view: "matters", state: { l: best.layer, h: best.head } },
  };
};
