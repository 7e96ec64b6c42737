// Reference singular values: LAPACK's dgesdd, with tolerances from the error bounds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/matrices.h"

namespace attnscope::test {

inline constexpr double kEpsilon = 0x1p-52;

/// A quarter of the documented accuracy, relative to σ_1.
inline constexpr double kErrorLimit = 1e-6 / 4;

inline constexpr std::array kThresholds = {1e-9, 0.1, 0.3,  0.5,   0.6,     0.7,
                                           0.8,  0.9, 0.99, 0.999, 0.99999, 1 - 1e-9};

inline std::vector<double> reference_values(MatrixView<const double> matrix) {
  return fallback_solvers()[0].solve(matrix).value();
}

inline std::string trace(std::string_view kind, std::int64_t rows, std::int64_t cols) {
  return std::string(kind) + ", " + std::to_string(rows) + " x " + std::to_string(cols);
}

inline double sum_of_squares(const std::vector<double>& values, double unit) {
  double sum = 0;
  for (const double value : values) sum += (value / unit) * (value / unit);
  return sum;
}

/// Computing an eigenvalue λ = σ² of the Gram matrix is backward stable: its error is at most δ = c
/// (m + n) ε σ_1². So |σ' - σ| = |λ' - λ| / (σ' + σ) is at most δ / σ, and at most sqrt(δ). The
/// reference has an error of c (m + n) ε σ_1, for which c = 2 is generous.
inline double tolerance(double value, double largest, double dimensions) {
  const double delta = 2 * dimensions * kEpsilon;  // in units of σ_1²
  const double share = value / largest;
  const double own = share > std::sqrt(delta) ? delta / share : std::sqrt(delta);
  return std::min(own, kErrorLimit) * largest;
}

inline void expect_near_values(const std::vector<double>& got, const std::vector<double>& expected,
                               std::int64_t dimensions) {
  ASSERT_EQ(got.size(), expected.size());
  ASSERT_TRUE(std::is_sorted(got.rbegin(), got.rend()));
  if (expected.empty()) return;
  ASSERT_GE(got.back(), 0);
  for (std::size_t index = 0; index < got.size(); ++index) {
    ASSERT_NEAR(got[index], expected[index],
                tolerance(expected[index], expected.front(), static_cast<double>(dimensions)))
        << "singular value " << index << " of " << got.size() << ", the first is " << got.front();
  }
}

/// The definition, on cumulative sums.
inline std::size_t plain_energy_rank(const std::vector<double>& cumulative, double threshold) {
  std::size_t rank = 1;
  while (rank < cumulative.size() && cumulative[rank - 1] < threshold) ++rank;
  return rank;
}

inline std::vector<double> plain_cumulative_energy(const std::vector<double>& values) {
  const double total = sum_of_squares(values, values.front());
  std::vector<double> out;
  double sum = 0;
  for (const double value : values) {
    sum += (value / values.front()) * (value / values.front());
    out.push_back(sum / total);
  }
  return out;
}

/// Checks for equal ranks. If a threshold is within 1e-6 of a step, either side is accepted.
inline void expect_same_energy_ranks(const std::vector<double>& got,
                                     const std::vector<double>& expected) {
  if (expected.empty() || expected.front() == 0) return;
  const std::vector<double> got_energy = plain_cumulative_energy(got);
  const std::vector<double> expected_energy = plain_cumulative_energy(expected);
  for (const double threshold : kThresholds) {
    const auto [low, high] = std::minmax(
        {plain_energy_rank(got_energy, threshold), plain_energy_rank(expected_energy, threshold)});
    for (std::size_t rank = low; rank < high; ++rank) {
      ASSERT_NEAR(expected_energy[rank - 1], threshold, 1e-6)
          << "energy ranks " << low << " and " << high;
    }
  }
}

/// Rounding of sums of m + n terms, and of an orthogonal similarity, which preserves the trace.
inline void expect_same_energy(const std::vector<double>& got, MatrixView<const double> matrix) {
  const double norm = frobenius_norm(matrix);
  if (norm == 0) return;
  const double dimensions = static_cast<double>(matrix.rows + matrix.cols);
  ASSERT_NEAR(sum_of_squares(got, norm), 1, 2 * dimensions * kEpsilon);
}

inline void expect_all(const std::vector<double>& got, MatrixView<const double> matrix,
                       const std::vector<double>& expected) {
  expect_near_values(got, expected, matrix.rows + matrix.cols);
  expect_same_energy_ranks(got, expected);
  expect_same_energy(got, matrix);
}

}  // namespace attnscope::test
