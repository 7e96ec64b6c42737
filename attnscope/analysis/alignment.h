// How a map of two texts aligns them: rows are tokens of the target, columns those of the source.
// Definitions: docs/metrics.md, "Cross attention".
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/core/matrix_view.h"

namespace attnscope {

/// How near the weights of a map (T, S) are to the line from its first to its last corner: mean
/// over rows of 1 − d / d_max, where d is the mean distance from that line by weight and d_max the
/// largest that the row allows, both between places (t + ½) / T and (s + ½) / S. 1: all on the
/// line. None where S < 2.
std::optional<double> diagonality(MatrixView<const float> map);

/// That of a map of T rows and S columns with equal weights.
std::optional<double> even_diagonality(std::int64_t queries, std::int64_t keys);

/// Whether later tokens look at later ones: the share of pairs of rows of which the later one has
/// its centre of weight in a later column; pairs with the same centre, within 10⁻⁶ S, count half.
/// That is (τ + 1) / 2, τ Kendall's (1938) of rows and centres. None where T < 2 or S < 2.
std::optional<double> monotonicity(MatrixView<const float> map);

}  // namespace attnscope
