#include "attnscope/numerics/products/dense_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

/// The relative difference between ‖R X‖ and ‖rowsᵀ X‖.
double root_error(MatrixView<const double> rows, MatrixView<const double> x) {
  const Matrix<double> root = gram_root(rows);
  const double wanted = frobenius_norm(naive_product(rows.transposed(), x).view());
  return std::abs(frobenius_norm(naive_product(root.view(), x).view()) - wanted) / wanted;
}

TEST(GramRoot, KeepsNormsOfProductsOfAnyShapeAndLayout) {
  const struct {
    std::int64_t rows, cols;
  } shapes[] = {{1, 1}, {1, 9}, {5, 5}, {7, 3}, {24, 100}, {64, 768}, {130, 200}};
  for (const auto& [rows, cols] : shapes) {
    const Matrix<double> plain = gaussian_matrix(rows, cols, 1), x = gaussian_matrix(rows, 4, 2);
    EXPECT_LT(root_error(plain.view(), x.view()), 1e-13) << rows << " " << cols;
    const Matrix<double> turned = gaussian_matrix(cols, rows, 3);
    EXPECT_LT(root_error(turned.view().transposed(), x.view()), 1e-13) << rows << " " << cols;
  }
}

// A Gram matrix alone would lose this: x along the smallest singular vector.
TEST(GramRoot, KeepsNormsOfTheSmallestSingularVector) {
  constexpr std::int64_t kRows = 32;
  for (const double last : {1.0, 1e-2, 1e-3, 1e-5, 1e-8}) {
    // diag(1, …, last) with reflections on both sides, exact to rounding, so x is known.
    const std::vector<double> values = geometric_values(kRows, last);
    Matrix<double> rows = zero_matrix(kRows, 80), x(kRows, 1);
    const double unit = 2.0 / kRows;
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t col = 0; col < kRows; ++col) {
        const double reflection = (row == col ? 1.0 : 0.0) - unit;
        rows(row, col) = reflection * values[static_cast<std::size_t>(col)];
      }
      x(row, 0) = (row == kRows - 1 ? 1.0 : 0.0) - unit;
    }
    // Rounding of `rows` itself changes the smallest value by 2^-53 of the largest.
    EXPECT_LT(root_error(rows.view(), x.view()), 1e-10 + 1e-14 / last) << last;
  }
}

TEST(GramRoot, SupportsZeroAndNumbersWhoseSquaresOverflow) {
  const Matrix<double> x = gaussian_matrix(6, 3, 2);
  const Matrix<double> root = gram_root(zero_matrix(6, 20).view());
  EXPECT_EQ(frobenius_norm(root.view()), 0);
  for (const double scale : {1e-250, 1e250}) {
    Matrix<double> rows = gaussian_matrix(6, 20, 1);
    const double plain = frobenius_norm(gram_root(rows.view()).view());
    for (std::int64_t at = 0; at < 120; ++at) rows.data()[at] *= scale;
    const Matrix<double> scaled = gram_root(rows.view());
    EXPECT_NEAR(std::abs(scaled(0, 0)) / scale / plain,
                std::abs(gram_root(gaussian_matrix(6, 20, 1).view())(0, 0)) / plain, 1e-14);
  }
}

}  // namespace
}  // namespace attnscope
