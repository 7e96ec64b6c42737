// Singular values of products that are never formed, compared with dgesdd on the product.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/compute.h"
#include "tests/support/expect_error.h"
#include "tests/support/matrices.h"
#include "tests/support/singular_value_checks.h"

namespace attnscope {
namespace {

using namespace test;

/// leftᵀ · right, formed explicitly, through dgesdd.
void check_product(MatrixView<const double> left, MatrixView<const double> right) {
  const std::size_t rank = static_cast<std::size_t>(std::min(left.rows, left.cols));
  const std::vector<double> got = product_singular_values(left, right, test_compute()).values;
  ASSERT_EQ(got.size(), rank);
  const Matrix<double> product = naive_product(left.transposed(), right);
  const std::vector<double> expected = reference_values(product.view());

  // Forming the product and the QR factorizations each round by about (r + D) ε ‖left‖ ‖right‖. If
  // the factors cancel, this exceeds ε of the product. The other errors are as for one matrix.
  const double dimensions = static_cast<double>(left.rows + left.cols);
  const double factors = 2 * dimensions * kEpsilon * frobenius_norm(left) * frobenius_norm(right);
  for (std::size_t index = 0; index < expected.size(); ++index) {
    if (index >= rank) {
      ASSERT_LE(expected[index], factors) << "more rank than possible";
      continue;
    }
    const double from_gram =
        expected[0] == 0 ? 0 : tolerance(expected[index], expected[0], dimensions);
    ASSERT_NEAR(got[index], expected[index], from_gram + factors)
        << "singular value " << index << " of " << rank << ", the first is " << expected[0];
  }
  expect_same_energy_ranks(got, {expected.begin(), expected.begin() + rank});
}

TEST(ProductSingularValues, AgreeWithTheFormedProduct) {
  constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {
      {1, 1}, {1, 12}, {12, 1}, {4, 32}, {16, 48}, {24, 24}, {32, 20}, {60, 7}, {64, 65}};
  for (const MatrixKind& kind : matrix_kinds()) {
    for (const auto& [rank, width] : kShapes) {
      SCOPED_TRACE(trace(kind.name, rank, width));
      const Matrix<double> left = kind.make(rank, width, /*seed=*/31);
      const Matrix<double> right = gaussian_matrix(rank, width, /*seed=*/32);
      check_product(left.view(), right.view());
      check_product(right.view(), left.view());
      check_product(left.view(), left.view());
    }
  }
}

TEST(ProductSingularValues, ReadHeadsInPlace) {
  const Matrix<double> rows = gaussian_matrix(48, 40, /*seed=*/41);
  const Matrix<double> columns = gaussian_matrix(40, 48, /*seed=*/42);
  for (std::int64_t head = 0; head < 4; ++head) {
    check_product(columns.view().col_block(12 * head, 12).transposed(),
                  rows.view().row_block(12 * head, 12));
  }
}

TEST(ProductSingularValues, AreZeroForAZeroFactor) {
  const Matrix<double> zero = zero_matrix(5, 18);
  const Matrix<double> other = gaussian_matrix(5, 18, /*seed=*/1);
  const std::vector<double> none(5, 0.0);
  EXPECT_EQ(product_singular_values(zero.view(), other.view(), test_compute()).values, none);
  EXPECT_EQ(product_singular_values(other.view(), zero.view(), test_compute()).values, none);
  EXPECT_EQ(product_singular_values(zero.view(), zero.view(), test_compute()).values, none);
}

// left has rank 3 and right has rank 2, so the product has rank 2.
TEST(ProductSingularValues, SupportRankDeficientFactors) {
  for (const auto& [rank, width] : {std::pair{8, 30}, {30, 8}, {16, 16}}) {
    const Matrix<double> left = naive_product(gaussian_matrix(rank, 3, /*seed=*/51).view(),
                                              gaussian_matrix(3, width, /*seed=*/52).view());
    const Matrix<double> right = naive_product(gaussian_matrix(rank, 2, /*seed=*/53).view(),
                                               gaussian_matrix(2, width, /*seed=*/54).view());
    check_product(left.view(), right.view());
    const std::vector<double> got =
        product_singular_values(left.view(), right.view(), test_compute()).values;
    EXPECT_GT(got[1], 1e-3 * got[0]);
    EXPECT_LT(got[2], kErrorLimit * got[0]);
  }
}

// (M A)ᵀ (M⁻ᵀ B) = Aᵀ B: M scales one factor up and the other down.
TEST(ProductSingularValues, SupportFactorsThatCancel) {
  constexpr std::int64_t kRank = 16, kWidth = 40;
  const Matrix<double> left = gaussian_matrix(kRank, kWidth, /*seed=*/61);
  const Matrix<double> right = gaussian_matrix(kRank, kWidth, /*seed=*/62);
  // U D V with the same orthogonal U, V (same seed) and D or D⁻¹: M⁻ᵀ = U D⁻¹ V.
  const std::vector<double> stretch = geometric_values(kRank, 1e-4);
  std::vector<double> shrink = stretch;
  for (double& value : shrink) value = 1 / value;
  const Matrix<double> m = matrix_with_singular_values(kRank, kRank, stretch, /*seed=*/63);
  const Matrix<double> m_inverse_transposed =
      matrix_with_singular_values(kRank, kRank, shrink, /*seed=*/63);
  const Matrix<double> blown = naive_product(m.view(), left.view());
  const Matrix<double> shrunk = naive_product(m_inverse_transposed.view(), right.view());
  check_product(blown.view(), shrunk.view());

  const std::vector<double> expected =
      product_singular_values(left.view(), right.view(), test_compute()).values;
  const std::vector<double> got =
      product_singular_values(blown.view(), shrunk.view(), test_compute()).values;
  // cond(M) ε for the rounding of the factors, times their norm.
  const double rounding = (kRank + kWidth) * 1e4 * kEpsilon * frobenius_norm(left.view()) *
                          frobenius_norm(right.view());
  for (std::size_t index = 0; index < got.size(); ++index) {
    EXPECT_NEAR(got[index], expected[index], rounding);
  }
}

TEST(ProductSingularValues, SupportHugeAndTinyFactors) {
  const Matrix<double> left = gaussian_matrix(6, 20, /*seed=*/71);
  const Matrix<double> right = gaussian_matrix(6, 20, /*seed=*/72);
  const std::vector<double> plain =
      product_singular_values(left.view(), right.view(), test_compute()).values;
  const double rounding =
      2 * (6 + 20) * kEpsilon * frobenius_norm(left.view()) * frobenius_norm(right.view());
  for (const auto& [left_exponent, right_exponent] :
       {std::pair{100, 100}, {-149, -149}, {100, -149}, {500, 500}, {-400, -400}}) {
    const Matrix<double> scaled_left = scaled_by_power_of_two(left, left_exponent);
    const Matrix<double> scaled_right = scaled_by_power_of_two(right, right_exponent);
    const std::vector<double> got =
        product_singular_values(scaled_left.view(), scaled_right.view(), test_compute()).values;
    for (std::size_t index = 0; index < got.size(); ++index) {
      const int exponent = left_exponent + right_exponent;
      EXPECT_NEAR(got[index], std::ldexp(plain[index], exponent), std::ldexp(rounding, exponent));
    }
  }
}

TEST(ProductSingularValues, FailAsNumericalIfTheProductOverflows) {
  const Matrix<double> factor =
      scaled_by_power_of_two(gaussian_matrix(6, 20, /*seed=*/71), /*exponent=*/600);
  EXPECT_ERROR_SAYING(ErrorKind::numerical,
                      product_singular_values(factor.view(), factor.view(), test_compute()),
                      "20 x 20", "overflows");
}

}  // namespace
}  // namespace attnscope
