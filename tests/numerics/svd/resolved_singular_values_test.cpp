// Small singular values of float64 matrices, compared with known ones and with Jacobi rotations.
#include "attnscope/numerics/svd/resolved_singular_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "tests/support/compute.h"
#include "tests/support/expect_error.h"
#include "tests/support/jacobi.h"
#include "tests/support/matrices.h"
#include "tests/support/singular_value_checks.h"

namespace attnscope {
namespace {

using namespace test;

/// Orthogonal transformations of a matrix make m + n roundings of each element. The roundings are
/// independent, so their sum grows as the square root.
double resolved_tolerance(std::int64_t rows, std::int64_t cols, double largest) {
  return 3 * std::sqrt(static_cast<double>(rows + cols)) * kEpsilon * largest;
}

void expect_resolved(MatrixView<const double> matrix, const std::vector<double>& expected) {
  const SingularValues got = resolved_singular_values(matrix, test_compute());
  EXPECT_EQ(got.resolution, Resolution::float64);
  EXPECT_TRUE(got.fallback.empty());
  ASSERT_EQ(got.values.size(), expected.size());
  ASSERT_TRUE(std::is_sorted(got.values.rbegin(), got.values.rend()));
  if (expected.empty()) return;
  ASSERT_GE(got.values.back(), 0);
  // Subnormal numbers have an absolute error.
  const double tolerance = std::max(resolved_tolerance(matrix.rows, matrix.cols, expected.front()),
                                    std::numeric_limits<double>::denorm_min());
  for (std::size_t at = 0; at < expected.size(); ++at) {
    ASSERT_NEAR(got.values[at], expected[at], tolerance) << "singular value " << at;
  }
}

Matrix<double> hilbert_matrix(std::int64_t rows, std::int64_t cols) {
  Matrix<double> out(rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      out(row, col) = 1 / static_cast<double>(row + col + 1);
    }
  }
  return out;
}

Matrix<double> graded_matrix(std::int64_t rows, std::int64_t cols, double row_base,
                             double col_base) {
  Matrix<double> out = gaussian_matrix(rows, cols, /*seed=*/5);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      out(row, col) *= std::pow(row_base, static_cast<double>(row)) *
                       std::pow(col_base, static_cast<double>(col));
    }
  }
  return out;
}

TEST(ResolvedSingularValues, EqualJacobiRotationsForEveryKind) {
  constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {
      {1, 1}, {1, 9}, {9, 1}, {2, 2}, {17, 17}, {24, 31}, {40, 7}, {5, 130}};
  for (const MatrixKind& kind : matrix_kinds()) {
    for (const auto& [rows, cols] : kShapes) {
      SCOPED_TRACE(trace(kind.name, rows, cols));
      const Matrix<double> matrix = kind.make(rows, cols, /*seed=*/8);
      expect_resolved(matrix.view(), jacobi_singular_values(matrix.view()));
    }
  }
}

TEST(ResolvedSingularValues, DecreaseToTheRoundingErrorOfTheLargest) {
  const std::vector<double> planted = geometric_values(100, 1e-16);
  for (const std::int64_t longer : {100, 130, 450, 1000}) {
    SCOPED_TRACE(longer);
    const Matrix<double> matrix = matrix_with_singular_values(100, longer, planted, /*seed=*/3);
    expect_resolved(matrix.view(), planted);
    expect_resolved(matrix.view().transposed(), planted);
  }
}

TEST(ResolvedSingularValues, EqualJacobiRotationsForHilbertAndGradedMatrices) {
  for (const Matrix<double>& matrix :
       {hilbert_matrix(20, 20), hilbert_matrix(12, 40), graded_matrix(30, 30, 0.01, 1),
        graded_matrix(30, 30, 1, 0.01), graded_matrix(12, 60, 0.3, 0.5),
        graded_matrix(24, 24, 1e-12, 1)}) {
    SCOPED_TRACE(trace("hilbert or graded", matrix.rows(), matrix.cols()));
    expect_resolved(matrix.view(), jacobi_singular_values(matrix.view()));
  }
}

TEST(ResolvedSingularValues, AreRoundingErrorsBeyondAnExactLowRank) {
  const Matrix<double> left = integer_matrix(60, 4, /*limit=*/9, /*seed=*/1);
  const Matrix<double> right = integer_matrix(4, 90, /*limit=*/9, /*seed=*/2);
  const Matrix<double> exact = naive_product(left.view(), right.view());
  const std::vector<double> got = resolved_singular_values(exact.view(), test_compute()).values;
  EXPECT_GT(got[3], 0.01 * got[0]);
  EXPECT_LT(got[4], resolved_tolerance(60, 90, got[0]));
}

TEST(ResolvedSingularValues, ScaleByPowersOfTwoDownToSubnormalNumbers) {
  const std::vector<double> planted = geometric_values(30, 1e-14);
  const Matrix<double> matrix = matrix_with_singular_values(30, 40, planted, /*seed=*/4);
  const std::vector<double> own = resolved_singular_values(matrix.view(), test_compute()).values;
  for (const int exponent : {-970, -500, 500, 1020}) {
    SCOPED_TRACE(exponent);
    const Matrix<double> scaled = scaled_by_power_of_two(matrix, exponent);
    std::vector<double> expected = own;
    for (double& value : expected) value = std::ldexp(value, exponent);
    EXPECT_EQ(resolved_singular_values(scaled.view(), test_compute()).values, expected);
  }
  for (const int exponent : {-1040, -1060}) {  // elements lose digits
    const Matrix<double> scaled = scaled_by_power_of_two(matrix, exponent);
    expect_resolved(scaled.view(), jacobi_singular_values(scaled.view()));
  }
}

TEST(ResolvedSingularValues, AreExactForZerosAndEmptyMatrices) {
  const std::vector<double> zeros(7, 0.0);
  EXPECT_EQ(resolved_singular_values(zero_matrix(7, 7).view(), test_compute()).values, zeros);
  EXPECT_EQ(resolved_singular_values(zero_matrix(7, 90).view(), test_compute()).values, zeros);
  EXPECT_TRUE(resolved_singular_values(zero_matrix(0, 4).view(), test_compute()).values.empty());
}

TEST(ResolvedSingularValues, OverflowIsAnError) {
  Matrix<double> matrix(2, 3);
  std::fill_n(matrix.data(), 6, std::numeric_limits<double>::max());
  EXPECT_ERROR_SAYING(ErrorKind::numerical, resolved_singular_values(matrix.view(), test_compute()),
                      "its norm overflows float64");
}

// The kernels are used from order 1200. One matrix combines all difficult properties.
TEST(ResolvedSingularValues, RecoverKnownValuesOfLargeMatrices) {
  std::vector<double> planted = geometric_values(1200, 1e-16);
  std::fill(planted.begin() + 100, planted.begin() + 140, planted[100]);
  std::fill(planted.begin() + 1100, planted.end(), 0.0);
  const Matrix<double> matrix = matrix_with_singular_values(1200, 1210, planted, /*seed=*/6);
  expect_resolved(matrix.view(), planted);
}

TEST(ResolvedSingularValues, BlocksGiveTheSameAsTheMatrix) {
  for (const auto& [rows, cols] :
       {std::pair<std::int64_t, std::int64_t>{20, 20}, {20, 190}, {190, 20}}) {
    SCOPED_TRACE(trace("blocks", rows, cols));
    const Matrix<double> matrix = gaussian_matrix(rows, cols, /*seed=*/9);
    const MatrixBlocks<double> blocks{
        rows, cols, [&](std::int64_t first_row, std::int64_t first_col, MatrixView<double> out) {
          for (std::int64_t row = 0; row < out.rows; ++row) {
            for (std::int64_t col = 0; col < out.cols; ++col) {
              out(row, col) = matrix(first_row + row, first_col + col);
            }
          }
        }};
    const double largest = extent_of(blocks, test_compute()).largest_magnitude;
    EXPECT_EQ(resolved_singular_values(blocks, largest, test_compute()).values,
              resolved_singular_values(matrix.view(), test_compute()).values);
  }
}

TEST(ResolvedProductSingularValues, EqualThoseOfTheFormedProduct) {
  for (const auto& [inner, width] :
       {std::pair<std::int64_t, std::int64_t>{1, 9}, {6, 40}, {24, 24}, {50, 20}}) {
    SCOPED_TRACE(trace("factors", inner, width));
    const std::int64_t count = std::min(inner, width);
    const Matrix<double> left =
        matrix_with_singular_values(inner, width, geometric_values(count, 1e-9), /*seed=*/1);
    const Matrix<double> right =
        matrix_with_singular_values(inner, width, geometric_values(count, 1e-6), /*seed=*/2);
    const Matrix<double> product = naive_product(left.view().transposed(), right.view());
    std::vector<double> expected = jacobi_singular_values(product.view());
    expected.resize(static_cast<std::size_t>(count));
    for (const int exponent : {0, 450, -450}) {  // the factors' squares exceed float64's range
      const Matrix<double> scaled = scaled_by_power_of_two(left, exponent);
      const SingularValues got =
          resolved_product_singular_values(scaled.view(), right.view(), test_compute());
      EXPECT_EQ(got.resolution, Resolution::float64);
      ASSERT_EQ(got.values.size(), expected.size());
      for (std::size_t at = 0; at < expected.size(); ++at) {
        // Both factors have a norm of 1.
        ASSERT_NEAR(std::ldexp(got.values[at], -exponent), expected[at],
                    resolved_tolerance(inner, width, 2));
      }
    }
  }
}

}  // namespace
}  // namespace attnscope
