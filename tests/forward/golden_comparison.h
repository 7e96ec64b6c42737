// Tolerances of forward passes relative to golden values, and the measured error.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"

namespace attnscope::test {

/// Relative to the largest value.
inline constexpr double kStatesTolerance = 2e-5;
inline constexpr double kMapsTolerance = 5e-5;

/// The largest difference divided by the largest value. `parts`: number of equal parts, such as the
/// hidden states of each layer. Each part is compared with its own largest value, and the worst
/// part counts.
inline double error_of(const std::vector<float>& got, const std::vector<float>& wanted,
                       std::int64_t parts) {
  if (got.size() != wanted.size()) return INFINITY;
  const std::size_t size = wanted.size() / static_cast<std::size_t>(parts);
  double worst = 0;
  for (std::size_t first = 0; first < wanted.size(); first += size) {
    double largest = 0, difference = 0;
    for (std::size_t at = first; at < first + size; ++at) {
      largest = std::max(largest, std::abs(static_cast<double>(wanted[at])));
      const double off = std::abs(static_cast<double>(got[at]) - static_cast<double>(wanted[at]));
      if (!(off <= difference)) difference = off;  // true for NaN
    }
    if (!(difference / largest <= worst)) worst = difference / largest;
  }
  return worst;
}

inline void append(std::vector<float>& out, MatrixView<const float> matrix) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    out.insert(out.end(), &matrix(row, 0), &matrix(row, 0) + matrix.cols);
  }
}

}  // namespace attnscope::test
