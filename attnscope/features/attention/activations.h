// Massive activations and outlier dimensions of the hidden states. Definitions: docs/metrics.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"

namespace attnscope {

/// The largest activation of one sequence, and the median that Sun et al. 2024 compare it with.
struct LargestActivation {
  double magnitude = 0;
  double median = 0;  // of all magnitudes of the sequence
  std::int64_t dimension = 0, position = 0;
};

/// `states` (T, D): finite states of one sequence. Ties: the first position counts, then the first
/// dimension.
LargestActivation largest_activation(MatrixView<const float> states);

/// Dettmers et al. 2022: an outlier dimension has a magnitude of at least 6 at 6% of the positions.
inline constexpr double kOutlierMagnitude = 6, kOutlierShare = 0.06;

/// Adds, per dimension, the number of positions in `states` (rows, D) with an outlier magnitude.
/// `counts` (D,).
void count_outliers(MatrixView<const float> states, std::span<std::int64_t> counts);

/// The dimensions that are outliers at enough positions, most frequent first. Ties are in order of
/// the dimension.
std::vector<std::int64_t> outlier_dimensions(std::span<const std::int64_t> counts,
                                             std::int64_t positions);

}  // namespace attnscope
