// Whether numbers go one way with depth. Comparing the first with the last would call a zigzag a trend.

/**
 * "falls" if no layer lies above an earlier one by more than a twentieth of the range, and seven of ten pairs of layers fall
 * by more than that and than twice their errors; so one step at one layer is no trend. "rises" likewise.
 */
export function trend(values: readonly (number | null)[], errors: readonly (number | null)[] = []): "falls" | "rises" | undefined {
  if (values.length < 4 || values.some((value) => value === null)) return undefined;
  const known = values as readonly number[];
  const least = (Math.max(...known) - Math.min(...known)) / 20;
  let [pairs, falls, rises, above, below] = [0, 0, 0, 0, 0];
  for (let late = 1; late < known.length; ++late)
    for (let early = 0; early < late; ++early) {
      const change = known[late]! - known[early]!;
      const clear = Math.abs(change) > Math.max(least, 2 * Math.hypot(errors[early] ?? 0, errors[late] ?? 0));
      ++pairs;
      if (change > least) ++above;
      if (change < -least) ++below;
      if (clear && change < 0) ++falls;
      if (clear && change > 0) ++rises;
    }
  if (above === 0 && falls >= 0.7 * pairs) return "falls";
  return below === 0 && rises >= 0.7 * pairs ? "rises" : undefined;
}
