// What random numbers give where rows bring no null of their own: docs/metrics.md says both.

/** The deviation of the cosine of two random directions of the residual stream. */
export const cosine_deviation = (width: number): number => 1 / Math.sqrt(width);

/** The overlap of independent random spaces of these ranks: the share of all directions that the largest spans. */
export const random_overlap = (ranks: readonly number[], width: number): number => Math.max(0, ...ranks) / width;
