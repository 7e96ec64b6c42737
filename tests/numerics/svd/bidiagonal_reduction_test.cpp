// The float32 reduction, compared with LAPACK's float64 singular values of the same matrix.
#include "attnscope/numerics/svd/bidiagonal_reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

/// Documented accuracy of values relative to σ_1, and of cumulative energies.
constexpr double kErrorBound = 1e-6;
/// Typical float32 accuracy if errors average out. The update rounds entries by 2^-25 of their
/// size, a value is affected by some of n / 32 such roundings, and the float32 copies of reflectors
/// have similar errors. If all values are similar, entries are about σ_1 / sqrt(n), so no value
/// changes by more than a few 2^-24 σ_1.
/// 2^-24 σ_1.
constexpr double kUsual = 2e-7;

std::vector<double> float_reference_values(const Matrix<float>& matrix) {
  const Matrix<double> copy = converted<double>(matrix);
  return fallback_solvers()[0].solve(copy.view()).value();
}

struct Errors {
  double value = 0;   // the largest error, relative to σ_1
  double energy = 0;  // error of a cumulative energy
};

Errors errors_of(const std::vector<double>& got, const std::vector<double>& expected) {
  EXPECT_EQ(got.size(), expected.size());
  EXPECT_TRUE(std::is_sorted(got.rbegin(), got.rend()));
  Errors out;
  if (got.size() != expected.size() || expected.empty() || expected.front() == 0) return out;
  double got_total = 0, expected_total = 0, got_sum = 0, expected_sum = 0;
  for (const double value : got) got_total += value * value;
  for (const double value : expected) expected_total += value * value;
  for (std::size_t rank = 0; rank < got.size(); ++rank) {
    out.value = std::max(out.value, std::abs(got[rank] - expected[rank]) / expected.front());
    got_sum += got[rank] * got[rank];
    expected_sum += expected[rank] * expected[rank];
    out.energy =
        std::max(out.energy, std::abs(got_sum / got_total - expected_sum / expected_total));
  }
  return out;
}

Matrix<float> times(const Matrix<float>& matrix, float factor) {
  Matrix<float> out = converted<float>(matrix);
  for (std::int64_t at = 0; at < out.rows() * out.cols(); ++at) out.data()[at] *= factor;
  return out;
}

Matrix<float> planted(std::int64_t n, const std::vector<double>& values) {
  return converted<float>(matrix_with_singular_values(n, n, values, /*seed=*/5));
}

class BidiagonalReduction : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_compute().kernels.available()) GTEST_SKIP() << "no kernels for this CPU";
  }
};

TEST_F(BidiagonalReduction, MatchesLapackAtEverySize) {
  std::vector<std::int64_t> sizes = {96, 127, 128, 129, 300, 515};
  for (std::int64_t n = 1; n <= 70; ++n) sizes.push_back(n);
  for (const std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    const auto matrix =
        converted<float>(gaussian_matrix(n, n, /*seed=*/static_cast<std::uint64_t>(n)));
    const ReducedValues got = reduced_singular_values(matrix.view(), test_compute());
    const Errors errors = errors_of(got.values, float_reference_values(matrix));
    EXPECT_LE(errors.value, kUsual);
    EXPECT_LE(errors.energy, kUsual);
    const double norm = frobenius_norm(converted<double>(matrix).view());
    EXPECT_NEAR(got.energy, norm * norm, 1e-12 * norm * norm);
  }
}

TEST_F(BidiagonalReduction, AcceptsAnyShapeAndStride) {
  const std::pair<std::int64_t, std::int64_t> shapes[] = {
      {1, 40}, {40, 1}, {33, 65}, {65, 33}, {100, 400}, {400, 100}, {290, 515}, {515, 290}};
  for (const auto& [rows, cols] : shapes) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
    const auto matrix = converted<float>(gaussian_matrix(rows, cols + 3, /*seed=*/2));
    const auto view = matrix.view().col_block(2, cols);
    Matrix<float> copy(rows, cols);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t col = 0; col < cols; ++col) copy(row, col) = view(row, col);
    }
    const std::vector<double> got = reduced_singular_values(view, test_compute()).values;
    EXPECT_LE(errors_of(got, float_reference_values(copy)).value, kUsual);
    EXPECT_EQ(got, reduced_singular_values(view.transposed(), test_compute()).values);
  }
}

/// Accepted results stay within both bounds for any matrix. Whether accepted or not, no value
/// exceeds the worst case of adding all roundings.
TEST_F(BidiagonalReduction, AnswersOnlyWithinItsErrorBound) {
  for (const std::int64_t n : {64, 129, 256}) {
    for (const MatrixKind& kind : matrix_kinds()) {
      SCOPED_TRACE(std::string(kind.name) + " " + std::to_string(n));
      const auto matrix = converted<float>(kind.make(n, n, /*seed=*/3));
      const ReducedValues got = reduced_singular_values(matrix.view(), test_compute());
      const Errors errors = errors_of(got.values, float_reference_values(matrix));
      EXPECT_LE(errors.value, 2 * kErrorBound);
      if (within_error_bounds(got)) {
        EXPECT_LE(errors.value, kErrorBound / 2);
        EXPECT_LE(errors.energy, kErrorBound / 2);
      }
    }
  }
}

/// Spectra similar to those of trained weights: a power law, and a bulk below a few outliers.
TEST_F(BidiagonalReduction, AcceptsSpectraOfTrainedWeights) {
  constexpr std::int64_t kOrder = 512;
  const auto check = [&](const std::vector<double>& values) {
    const Matrix<float> matrix = planted(kOrder, values);
    const ReducedValues got = reduced_singular_values(matrix.view(), test_compute());
    EXPECT_TRUE(within_error_bounds(got));
    const Errors errors = errors_of(got.values, float_reference_values(matrix));
    EXPECT_LE(errors.energy, kUsual / 4);
    // The bound holds for every cumulative energy even if all errors have the worst sign.
    double sum = 0, energy = 0;
    for (const double value : got.values) {
      sum += value;
      energy += value * value;
    }
    EXPECT_LE(2 * errors.value * got.values.front() * sum / energy, kErrorBound);
  };
  for (const double power : {0.25, 0.5, 1.0}) {
    SCOPED_TRACE(power);
    std::vector<double> values;
    for (std::int64_t at = 1; at <= kOrder; ++at) {
      values.push_back(std::pow(static_cast<double>(at), -power));
    }
    check(values);
  }
  for (const double outlier : {5.0, 30.0, 100.0, 1000.0}) {
    for (const std::int64_t count : {1, 8}) {
      SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(outlier));
      std::vector<double> values;
      for (std::int64_t at = 0; at < kOrder; ++at) {
        const double share = static_cast<double>(at) / static_cast<double>(kOrder);
        values.push_back(at < count ? outlier * (1 - 0.05 * static_cast<double>(at))
                                    : 1.7 * (1 - share) + 0.01);
      }
      check(values);
    }
  }
  std::vector<double> decay = geometric_values(kOrder, 1e-4);
  check(decay);
}

TEST_F(BidiagonalReduction, RejectsDegenerateSpectra) {
  constexpr std::int64_t kOrder = 256;
  const std::vector<double> ones(kOrder, 1.0);
  std::vector<double> half = ones;
  for (std::size_t at = kOrder / 2; at < kOrder; ++at) half[at] = 1e-3 * static_cast<double>(at);
  for (const Matrix<float>& matrix : {planted(kOrder, ones), planted(kOrder, half),
                                      converted<float>(hadamard_matrix(kOrder, kOrder))}) {
    EXPECT_FALSE(bidiagonal_singular_values(matrix.view(), test_compute()).has_value());
  }
}

TEST_F(BidiagonalReduction, RejectsAWrongEnergyAndABulkBelowOneValue) {
  EXPECT_TRUE(within_error_bounds({.values = {3, 2, 1}, .energy = 14}));
  EXPECT_FALSE(within_error_bounds({.values = {3, 2, 1}, .energy = 14.00001}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(within_error_bounds({.values = {3, 2, 1}, .energy = nan}));
  EXPECT_FALSE(within_error_bounds({.values = {nan, nan}, .energy = 14}));
  // σ_1 is as large as the root sum of squares of 20000 others: σ_1 Σσ / Σσ² is about 70.
  std::vector<double> values = {141};
  double energy = 141 * 141;
  for (int at = 0; at < 20000; ++at) {
    values.push_back(1.2 - 0.4 * at / 20000);
    energy += values.back() * values.back();
  }
  EXPECT_FALSE(within_error_bounds({.values = std::move(values), .energy = energy}));
}

TEST_F(BidiagonalReduction, ScalesByPowersOfTwoExactly) {
  const auto matrix = converted<float>(gaussian_matrix(129, 129, /*seed=*/4));
  const std::vector<double> expected =
      reduced_singular_values(matrix.view(), test_compute()).values;
  for (const int exponent : {-100, 100}) {
    const Matrix<float> scaled = times(matrix, std::ldexp(1.0F, exponent));
    std::vector<double> got = reduced_singular_values(scaled.view(), test_compute()).values;
    for (double& value : got) value = std::ldexp(value, -exponent);
    EXPECT_EQ(got, expected);
  }
  for (const float factor : {1e-30F, 1e30F}) {
    const Matrix<float> scaled = times(matrix, factor);
    EXPECT_LE(errors_of(bidiagonal_singular_values(scaled.view(), test_compute()).value(),
                        float_reference_values(scaled))
                  .value,
              kUsual);
  }
  const auto zero = converted<float>(zero_matrix(40, 40));
  EXPECT_EQ(bidiagonal_singular_values(zero.view(), test_compute()), std::vector<double>(40, 0.0));
}

TEST_F(BidiagonalReduction, ThreadsDoNotChangeTheResult) {
  const auto matrix = converted<float>(gaussian_matrix(1100, 900, /*seed=*/6));
  const std::vector<double> alone = reduced_singular_values(matrix.view(), test_compute()).values;
  LentTeam lent(3);
  const std::vector<double> helped = reduced_singular_values(matrix.view(), lent.compute()).values;
  EXPECT_EQ(helped, alone);
}

/// The shape alone decides, and a rejected result falls back to float64.
TEST_F(BidiagonalReduction, IsUsedForLargeSquareMatrices) {
  EXPECT_FALSE(worth_reducing(1024, 1024));
  EXPECT_TRUE(worth_reducing(2048, 2048));
  EXPECT_FALSE(worth_reducing(2048, 8192));
  const auto matrix = converted<float>(gaussian_matrix(1600, 1600, /*seed=*/8));
  const std::vector<double> got = singular_values(matrix.view(), test_compute()).values;
  EXPECT_EQ(got, bidiagonal_singular_values(matrix.view(), test_compute()).value());
  // The float64 method has an error of at most sqrt(2^-50) = 3e-8 σ_1.
  const Matrix<double> copy = converted<double>(matrix);
  const Errors errors = errors_of(got, singular_values(copy.view(), test_compute()).values);
  EXPECT_LE(errors.value, kUsual);
  EXPECT_LE(errors.energy, kUsual / 4);
}

}  // namespace
}  // namespace attnscope
