// Effects on clean and corrupted prompts: values, significance and tooltips.
import { format_number } from "../chart/number_format";
import type { AblatePatchingRow, AblatePathRow, AblatePromptsRow } from "../data/report_file";

export type EffectRow = AblatePromptsRow | AblatePatchingRow | AblatePathRow;
export type Direction = "denoising" | "noising";

/** A share of the clean–corrupted gap, or the change of the metric, in one direction. */
export interface Measure {
  direction: Direction;
  is_share: boolean;
}

const kMeasures: readonly Measure[] = [
  { direction: "denoising", is_share: true },
  { direction: "noising", is_share: true },
  { direction: "denoising", is_share: false },
  { direction: "noising", is_share: false },
];

/** In percent if it is a share. Null if it was not measured. */
export function effect_of(row: EffectRow, { direction, is_share }: Measure): number | null {
  if (is_share) {
    const share = row[`${direction}_effect`];
    return typeof share === "number" ? 100 * share : null;
  }
  return "denoising_change" in row ? row[`${direction}_change`] : null;
}

const error_of = (row: EffectRow, { direction, is_share }: Measure): number | null => {
  if (is_share) return row[`${direction}_effect_error`];
  return "denoising_change" in row ? row[`${direction}_change_error`] : null;
};

/** The first measure that the rows have. */
export const measure_of = (rows: readonly EffectRow[]): Measure | undefined =>
  kMeasures.find((measure) => rows.some((row) => effect_of(row, measure) !== null));

/** The largest size of an effect; 0 without rows. There may be too many rows for the arguments of Math.max(). */
export const largest_effect = (rows: readonly EffectRow[], measure: Measure): number =>
  rows.reduce((most, row) => Math.max(most, Math.abs(effect_of(row, measure) ?? 0)), 0);

/** The 95% bootstrap interval in percent. Null if it is unknown, and for changes of the metric. */
export function interval_of(row: EffectRow, { direction, is_share }: Measure): readonly [number, number] | null {
  const [low, high] = [row[`${direction}_effect_low`], row[`${direction}_effect_high`]];
  return is_share && low !== null && high !== null ? [100 * low, 100 * high] : null;
}

/** Whether an effect is significant among all tests. If that is unknown: whether it is beyond 2 standard errors. */
export function is_significant(row: EffectRow, measure: Measure): boolean {
  const known = row[`${measure.direction}_significant`];
  if (typeof known === "boolean") return known;
  const [value, error] = [effect_of(row, measure), error_of(row, measure)];
  const unit = measure.is_share ? 100 : 1;
  return value === null || value === 0 || error === null || Math.abs(value) > 2 * unit * error;
}

/** What effects that are not significant have in common, in captions and in tooltips. */
export function unclear_words(rows: readonly EffectRow[]): { caption: string; tip: string } {
  const tested = rows.find((row) => typeof (row.denoising_significant ?? row.noising_significant) === "boolean");
  if (tested === undefined) return { caption: "within 2 standard errors of 0 over prompts", tip: "within 2 standard errors of 0" };
  return {
    caption: `not significant (${tested.tests} tests, false discovery rate 5%)`,
    tip: "not significant",
  };
}

/** Number format of effects, with enough digits for the largest one. */
export const format_of = (measure: Measure, most: number): string => (measure.is_share ? (most < 10 ? "+.1f" : "+.0f") : "+.3f");

/** "+16.7%, 95% interval +12.1% to +20.9%, p = 0.004", in tooltips. */
export function effect_words(row: EffectRow, measure: Measure): string | undefined {
  const value = effect_of(row, measure);
  if (value === null) return undefined;
  const number = (each: number) => (measure.is_share ? `${format_number(each, "+.1f")}%` : format_number(each, "+.3f"));
  const interval = interval_of(row, measure);
  const p_value = row[`${measure.direction}_p_value`];
  return (
    number(value) +
    (interval ? `, 95% interval ${number(interval[0])} to ${number(interval[1])}` : "") +
    (p_value === null ? "" : `, p = ${format_number(p_value, "tick")}`)
  );
}
