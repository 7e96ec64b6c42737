// Singular values from float32 Gram matrices, compared with LAPACK's float64 values.
#include "attnscope/numerics/svd/float32_gram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"
#include "tests/support/singular_value_checks.h"

namespace attnscope {
namespace {

using namespace test;

/// Documented accuracy relative to σ_1.
constexpr double kFloat32GramError = 1e-6;
/// m products are summed in chains of 32, then in groups of eight, then in float64. An entry of the
/// Gram matrix has an error of about 2^-25 sqrt(20 m) products. The error matrix has a norm of 2
/// sqrt(n) times that, which is 2^-25 · 9 sqrt(n) / m relative to λ_1. A value changes by this
/// divided by 2 σ / σ_1: 5e-8 for the smallest matrix here, and less for the others.
constexpr double kFloat32GramUsual = 1e-7;

double largest_error(const std::vector<double>& got, const std::vector<double>& expected) {
  EXPECT_EQ(got.size(), expected.size());
  EXPECT_TRUE(std::is_sorted(got.rbegin(), got.rend()));
  if (got.size() != expected.size()) return kFloat32GramError * 1e3;
  double largest = 0;
  for (std::size_t at = 0; at < got.size(); ++at) {
    largest = std::max(largest, std::abs(got[at] - expected[at]));
  }
  return expected.front() > 0 ? largest / expected.front() : largest;
}

double largest_error(const std::vector<double>& got, const Matrix<float>& matrix) {
  return largest_error(got, reference_values(converted<double>(matrix).view()));
}

class Float32Gram : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_compute().kernels.available()) GTEST_SKIP() << "no kernels for this CPU";
  }
};

TEST_F(Float32Gram, MatchesLapackAroundTheSizesOfTilesGroupsAndBlocks) {
  const std::pair<std::int64_t, std::int64_t> shapes[] = {
      {24, 100}, {25, 64}, {47, 300}, {48, 256}, {49, 257}, {97, 1023}, {384, 1025}, {400, 2049}};
  for (const auto& [rows, cols] : shapes) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
    const auto wide = converted<float>(gaussian_matrix(rows, cols, 3));
    const auto values = float32_gram_singular_values(wide.view(), test_compute());
    ASSERT_TRUE(values);
    EXPECT_LE(largest_error(*values, wide), kFloat32GramUsual);
    const auto tall = converted<float>(gaussian_matrix(cols, rows, 4));
    const auto of_tall = float32_gram_singular_values(tall.view(), test_compute());
    ASSERT_TRUE(of_tall);
    EXPECT_LE(largest_error(*of_tall, tall), kFloat32GramUsual);
  }
}

TEST_F(Float32Gram, AcceptsAnyStride) {
  const auto big = converted<float>(gaussian_matrix(180, 700, 6));
  const MatrixView<const float> part = big.view().block(3, 150, 5, 600);
  const Matrix<float> copy = converted<float>([&] {
    Matrix<float> out(150, 600);
    for (std::int64_t row = 0; row < 150; ++row) {
      for (std::int64_t col = 0; col < 600; ++col) out(row, col) = part(row, col);
    }
    return out;
  }());
  EXPECT_EQ(float32_gram_singular_values(part, test_compute()),
            float32_gram_singular_values(copy.view(), test_compute()));
  const auto flipped = float32_gram_singular_values(part.transposed(), test_compute());
  ASSERT_TRUE(flipped);
  EXPECT_LE(largest_error(*flipped, copy), kFloat32GramUsual);
}

TEST_F(Float32Gram, AnswersOnlyWithinItsErrorBound) {
  for (const auto& [name, make] : matrix_kinds()) {
    for (const bool tall : {false, true}) {
      SCOPED_TRACE(std::string(name) + (tall ? ", tall" : ", wide"));
      const auto matrix = converted<float>(tall ? make(900, 400, 7) : make(400, 900, 7));
      const auto expected = reference_values(converted<double>(matrix).view());
      const auto values = float32_gram_singular_values(matrix.view(), test_compute());
      if (values) {
        EXPECT_LE(largest_error(*values, expected), kFloat32GramError);
      }
      // The documented accuracy holds for every solver.
      EXPECT_LE(largest_error(singular_values(matrix.view(), test_compute()).values, expected),
                kFloat32GramError);
    }
  }
}

TEST_F(Float32Gram, KeepsTheErrorBoundIfErrorsAddUp) {
  // A nonzero mean: sums that only increase are rounded in the same direction in every row.
  for (const double mean : {0.5, 3.0, 100.0, 1e4}) {
    SCOPED_TRACE(mean);
    auto matrix = converted<float>(gaussian_matrix(400, 1600, 8));
    for (std::int64_t at = 0; at < 400 * 1600; ++at) {
      matrix.data()[at] += static_cast<float>(mean);
    }
    const auto values = float32_gram_singular_values(matrix.view(), test_compute());
    if (values) {
      EXPECT_LE(largest_error(*values, matrix), kFloat32GramError);
    }
  }
}

TEST_F(Float32Gram, IsNotMisledByExactRowsAtTheTop) {
  // The sampled rows have exact sums. The others do not, and give the smallest values too few
  // digits.
  auto matrix = converted<float>(gaussian_matrix(400, 1600, 9));
  for (std::int64_t row = 0; row < 24; ++row) {
    for (std::int64_t col = 0; col < 1600; ++col) matrix(row, col) = row == col ? 40.0F : 0.0F;
  }
  for (const double least : {1.0, 1e-2, 1e-4, 1e-6}) {
    SCOPED_TRACE(least);
    for (std::int64_t col = 0; col < 1600; ++col) {
      matrix(399, col) = matrix(398, col) + static_cast<float>(least) * matrix(397, col);
    }
    const auto values = float32_gram_singular_values(matrix.view(), test_compute());
    if (values) {
      EXPECT_LE(largest_error(*values, matrix), kFloat32GramError);
    }
  }
}

TEST_F(Float32Gram, RejectsValuesNearZero) {
  auto duplicated = converted<float>(gaussian_matrix(400, 1600, 10));
  for (std::int64_t col = 0; col < 1600; ++col) duplicated(17, col) = duplicated(300, col);
  EXPECT_FALSE(float32_gram_singular_values(duplicated.view(), test_compute()));
  auto zero_row = converted<float>(gaussian_matrix(400, 1600, 11));
  for (std::int64_t col = 0; col < 1600; ++col) zero_row(200, col) = 0;
  EXPECT_FALSE(float32_gram_singular_values(zero_row.view(), test_compute()));
}

TEST_F(Float32Gram, ScalesByPowersOfTwoExactly) {
  const auto matrix = converted<float>(gaussian_matrix(400, 900, 12));
  const auto values = float32_gram_singular_values(matrix.view(), test_compute());
  ASSERT_TRUE(values);
  for (const int exponent : {-100, -30, 30, 100}) {
    SCOPED_TRACE(exponent);
    auto scaled = converted<float>(matrix);
    for (std::int64_t at = 0; at < 400 * 900; ++at) {
      scaled.data()[at] = std::ldexp(scaled.data()[at], exponent);
    }
    const auto of_scaled = float32_gram_singular_values(scaled.view(), test_compute());
    ASSERT_TRUE(of_scaled);
    for (std::size_t at = 0; at < values->size(); ++at) {
      ASSERT_EQ((*of_scaled)[at], std::ldexp((*values)[at], exponent));
    }
  }
}

TEST_F(Float32Gram, ThreadsDoNotChangeTheResult) {
  const auto matrix = converted<float>(gaussian_matrix(1000, 2500, 13));
  const auto alone = float32_gram_singular_values(matrix.view(), test_compute());
  ASSERT_TRUE(alone);
  LentTeam lent(3);
  const auto helped = float32_gram_singular_values(matrix.view(), lent.compute());
  EXPECT_EQ(helped, alone);
}

TEST_F(Float32Gram, IsUsedForLargeTallAndWideMatrices) {
  const auto matrix = converted<float>(gaussian_matrix(400, 1000, 14));
  ASSERT_TRUE(worth_float32_gram(400, 1000));
  EXPECT_EQ(singular_values(matrix.view(), test_compute()).values,
            float32_gram_singular_values(matrix.view(), test_compute()));
  EXPECT_FALSE(worth_float32_gram(400, 500));
  EXPECT_FALSE(worth_float32_gram(300, 1000));
}

}  // namespace
}  // namespace attnscope
