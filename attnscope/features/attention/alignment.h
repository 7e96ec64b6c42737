// Alignment of cross-attention maps: rows are target tokens, columns are source tokens.
// Definitions: docs/metrics.md, "Cross attention".
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/base/matrix_view.h"

namespace attnscope {

/// How close the weights of a map (T, S) are to its diagonal: mean over rows of 1 − d / d_max. Here
/// d is the weighted mean distance from the diagonal, and d_max the largest distance in that row.
/// Positions are (t + ½) / T and (s + ½) / S. 1: all weight on the diagonal. Empty if S < 2.
std::optional<double> diagonality(MatrixView<const float> map);

/// The value for a map of T rows and S columns with equal weights.
std::optional<double> uniform_diagonality(std::int64_t queries, std::int64_t keys);

/// Share of pairs of rows whose centers of weight are in the same order as the rows. Pairs with
/// equal centers, within 10⁻⁶ S, count half. This is (τ + 1) / 2, with Kendall's τ (1938) of rows
/// and centers. Empty if T < 2 or S < 2.
std::optional<double> monotonicity(MatrixView<const float> map);

}  // namespace attnscope
