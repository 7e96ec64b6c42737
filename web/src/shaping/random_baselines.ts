// Random baselines for rows without a baseline field (docs/metrics.md).

/** Standard deviation of the cosine between two random directions of the residual stream. */
export const cosine_deviation = (width: number): number => 1 / Math.sqrt(width);

/** Overlap of independent random subspaces of these ranks: the largest rank over the hidden size. */
export const random_overlap = (ranks: readonly number[], width: number): number => Math.max(0, ...ranks) / width;
