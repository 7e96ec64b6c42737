// Singular values by one-sided Jacobi rotations in long double, as a reference. It shares no code
// and no rounding with LAPACK, and is meant for small matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attnscope/base/matrix_view.h"

namespace attnscope::test {

/// Descending values, each with a small relative error even for columns of different norms.
inline std::vector<double> jacobi_singular_values(MatrixView<const double> matrix) {
  const MatrixView<const double> a = matrix.rows >= matrix.cols ? matrix : matrix.transposed();
  std::vector<std::vector<long double>> columns(static_cast<std::size_t>(a.cols));
  for (std::int64_t col = 0; col < a.cols; ++col) {
    for (std::int64_t row = 0; row < a.rows; ++row) {
      columns[static_cast<std::size_t>(col)].push_back(a(row, col));
    }
  }
  const auto dot = [](const std::vector<long double>& one, const std::vector<long double>& other) {
    long double sum = 0;
    for (std::size_t at = 0; at < one.size(); ++at) sum += one[at] * other[at];
    return sum;
  };
  constexpr long double kOrthogonal = 8 * std::numeric_limits<long double>::epsilon();
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < 60; ++sweep) {
    rotated = false;
    for (std::size_t p = 0; p + 1 < columns.size(); ++p) {
      for (std::size_t q = p + 1; q < columns.size(); ++q) {
        const long double pp = dot(columns[p], columns[p]), qq = dot(columns[q], columns[q]);
        const long double pq = dot(columns[p], columns[q]);
        if (std::abs(pq) <= kOrthogonal * std::sqrt(pp) * std::sqrt(qq)) continue;
        rotated = true;
        const long double zeta = (qq - pp) / (2 * pq);
        const long double t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::hypot(1.0L, zeta));
        const long double c = 1 / std::hypot(1.0L, t), s = c * t;
        for (std::size_t at = 0; at < columns[p].size(); ++at) {
          const long double left = columns[p][at], right = columns[q][at];
          columns[p][at] = c * left - s * right;
          columns[q][at] = s * left + c * right;
        }
      }
    }
  }
  std::vector<double> values;
  for (const auto& column : columns) {
    values.push_back(static_cast<double>(std::sqrt(dot(column, column))));
  }
  std::sort(values.rbegin(), values.rend());
  return values;
}

}  // namespace attnscope::test
