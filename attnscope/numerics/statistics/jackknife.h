// Delete-one jackknife of ratios of sums. Definitions: docs/metrics.md, "Standard errors".
#pragma once

#include <span>

#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {

/// Returns R = Σ parts / Σ wholes over independent pairs, with the standard error
/// sqrt((N − 1) / N · Σ (R_i − mean R_i)²), where R_i omits pair i (Quenouille 1956, Tukey 1958).
/// Empty if Σ wholes is 0. The error is empty for N < 2, or if Σ wholes without one pair is 0.
MeanWithError jackknife_ratio(std::span<const double> parts, std::span<const double> wholes);

}  // namespace attnscope
