// Whether values change consistently with depth. Comparing only the first and last layer would accept a zigzag.

/**
 * Returns "falls" if three conditions hold, and "rises" likewise. No layer is above an earlier one by more than 5% of the range. At least
 * 70% of the pairs of layers fall by more than that and by more than 2 standard errors. No single step exceeds two thirds of the range.
 */
export function trend(values: readonly (number | null)[], errors: readonly (number | null)[] = []): "falls" | "rises" | undefined {
  const known = values.filter((value) => value !== null);
  const steps = known.map((value, layer) => value - (known[layer - 1] ?? value));
  const range = Math.max(...known) - Math.min(...known);
  const least = range / 20;
  if (known.length < 4 || known.length < values.length || steps.some((step) => Math.abs(step) > (2 / 3) * range)) return undefined;
  let [pairs, falls, rises, above, below] = [0, 0, 0, 0, 0];
  for (const [late, last] of known.entries())
    for (const [early, first] of known.slice(0, late).entries()) {
      const change = last - first;
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
