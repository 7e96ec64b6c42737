// Products of thin factors, compared with the explicitly formed products.
#include "attnscope/numerics/products/factored_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

/// leftᵀ · right at the given scale of the factors.
Matrix<double> whole(const Matrix<double>& left, const Matrix<double>& right) {
  return naive_product(left.view().transposed(), right.view());
}

/// Σ values, Σ |values| and the number of values. They compare two spectra that may differ in the
/// number of zeros.
struct Sums {
  double signed_sum = 0, absolute = 0;
};

template <class T>
Sums sums_of_squares(const std::vector<T>& values, double scale) {
  Sums out;
  for (const T& value : values) {
    out.signed_sum += scale * std::real(value);
    out.absolute += scale * std::abs(value);
  }
  return out;
}

void expect_as_whole(const Matrix<double>& left, const Matrix<double>& right) {
  const ProductFactor a = make_product_factor(left.view(), true, test_compute()),
                      b = make_product_factor(right.view(), true, test_compute());
  ASSERT_TRUE(a.finite && b.finite);
  const double scale = std::ldexp(1.0, a.exponent + b.exponent);
  const Matrix<double> product = whole(left, right);
  const double size = frobenius_norm(left.view()) * frobenius_norm(right.view());
  const auto width = static_cast<double>(left.cols());

  const std::vector<double> expected = singular_values(product.view(), test_compute()).values;
  const std::vector<double> values = factored_product_singular_values(a, b, test_compute());
  ASSERT_EQ(values.size(), static_cast<std::size_t>(std::min(left.rows(), left.cols())));
  // An eigenvalue of a Gram matrix has an error of width * 2^-52 of the largest. A singular value
  // has at most the square root of that, and much less if it is not small.
  const double tolerance = std::sqrt(width * 0x1p-52) * expected.front();
  for (std::size_t index = 0; index < values.size(); ++index) {
    ASSERT_NEAR(scale * values[index], expected[index], tolerance) << index;
  }

  const Matrix<double> head_space = head_space_product(a, b, test_compute());
  std::vector<double> symmetric;
  for (std::int64_t col = 0; col < product.cols(); ++col) {
    for (std::int64_t row = 0; row < product.rows(); ++row) {
      symmetric.push_back((product(row, col) + product(col, row)) / 2);
    }
  }
  const auto of_whole = lapack::symmetric_eigenvalues(product.rows(), symmetric.data());
  const Sums wanted = sums_of_squares(*of_whole, 1);
  const Sums got =
      sums_of_squares(symmetric_part_eigenvalues(a, b, head_space, test_compute()), scale);
  const double sum_tolerance = 100 * width * width * 0x1p-52 * size;
  EXPECT_NEAR(got.signed_sum, wanted.signed_sum, sum_tolerance);
  EXPECT_NEAR(got.absolute, wanted.absolute, sum_tolerance);

  double trace = 0;
  for (std::int64_t at = 0; at < product.rows(); ++at) trace += product(at, at);
  const Sums eigenvalues =
      sums_of_squares(factored_product_eigenvalues(a, b, head_space, test_compute()), scale);
  EXPECT_NEAR(eigenvalues.signed_sum, trace, sum_tolerance);
}

TEST(FactoredProduct, EqualsTheFullProductForEveryShape) {
  for (const auto& [rows, cols] :
       {std::pair{1, 1}, {1, 9}, {3, 40}, {8, 17}, {8, 16}, {8, 15}, {8, 8}, {12, 7}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << cols);
    expect_as_whole(gaussian_matrix(rows, cols, 1), gaussian_matrix(rows, cols, 2));
  }
}

TEST(FactoredProduct, SupportsDependentRows) {
  Matrix<double> left = gaussian_matrix(6, 40, 1), right = gaussian_matrix(6, 40, 2);
  for (std::int64_t col = 0; col < 40; ++col) {
    left(5, col) = left(4, col);                  // no Cholesky factor
    right(0, col) = left(1, col) - left(2, col);  // dependent across the factors
    right(3, col) = 0;
  }
  expect_as_whole(left, right);
  expect_as_whole(right, left);
}

TEST(FactoredProduct, SupportsNearlyDependentRows) {
  for (const double distance : {1e-3, 1e-5, 1e-6, 1e-7, 1e-9}) {
    SCOPED_TRACE(distance);
    const Matrix<double> left = gaussian_matrix(6, 40, 1), noise = gaussian_matrix(6, 40, 2);
    Matrix<double> right(6, 40);
    for (std::int64_t row = 0; row < 6; ++row) {
      for (std::int64_t col = 0; col < 40; ++col) {
        right(row, col) = left(row, col) + distance * noise(row, col);
      }
    }
    expect_as_whole(left, right);
  }
}

TEST(FactoredProduct, KeepsTheEnergyIfTheFactorsCancel) {
  // A → X A, B → X⁻ᵀ B leaves M unchanged. Gram matrices alone would lose it.
  const Matrix<double> left = gaussian_matrix(6, 40, 1), right = gaussian_matrix(6, 40, 2);
  Matrix<double> stretched = zero_matrix(6, 40), shrunk = zero_matrix(6, 40);
  for (std::int64_t row = 0; row < 6; ++row) {
    const double factor = std::pow(10.0, row - 2);
    for (std::int64_t col = 0; col < 40; ++col) {
      stretched(row, col) = left(row, col) * factor;
      shrunk(row, col) = right(row, col) / factor;
    }
  }
  const auto values_of = [](const Matrix<double>& a, const Matrix<double>& b) {
    const ProductFactor one = make_product_factor(a.view(), true, test_compute()),
                        other = make_product_factor(b.view(), true, test_compute());
    std::vector<double> values = factored_product_singular_values(one, other, test_compute());
    for (double& value : values) value = std::ldexp(value, one.exponent + other.exponent);
    return values;
  };
  const std::vector<double> expected = values_of(left, right), got = values_of(stretched, shrunk);
  for (std::size_t index = 0; index < got.size(); ++index) {
    EXPECT_NEAR(got[index], expected[index], 1e-9 * expected.front());
  }
}

TEST(ProductFactor, SupportsEveryScale) {
  for (const double size : {1e-300, 1e-160, 1.0, 1e160, 1e300}) {
    Matrix<double> matrix = gaussian_matrix(3, 12, 1);
    for (std::int64_t at = 0; at < 36; ++at) matrix.data()[at] *= size;
    const ProductFactor factor = make_product_factor(matrix.view(), true, test_compute());
    ASSERT_TRUE(factor.finite) << size;
    const double expected =
        singular_values(std::as_const(matrix).view(), test_compute()).values.front();
    EXPECT_NEAR(std::ldexp(factor.singular_values.front(), factor.exponent) / expected, 1, 1e-12);
  }
}

TEST(ProductFactor, DetectsNanAndInfinity) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Matrix<double> matrix = gaussian_matrix(3, 12, 1);
    matrix(2, 11) = bad;
    EXPECT_FALSE(make_product_factor(matrix.view(), true, test_compute()).finite);
  }
}

TEST(ProductFactor, IsZeroForAZeroMatrix) {
  const ProductFactor zero = make_product_factor(zero_matrix(3, 12).view(), true, test_compute());
  EXPECT_TRUE(zero.finite && zero.is_zero());
  const ProductFactor other =
      make_product_factor(gaussian_matrix(3, 12, 1).view(), true, test_compute());
  EXPECT_EQ(factored_product_singular_values(zero, other, test_compute()),
            std::vector<double>(3, 0.0));
}

TEST(FactoredProduct, RankOneFactorsHaveOneEigenvalue) {
  // A head with the same output for any input, and one with a single nonzero row.
  for (const std::int64_t live : {1, 8}) {
    Matrix<double> factor = zero_matrix(8, 64);
    const Matrix<double> direction = integer_matrix(1, 64, 9, 7);
    for (std::int64_t row = 0; row < live; ++row) {
      for (std::int64_t col = 0; col < 64; ++col) factor(row, col) = 3 * direction(0, col);
    }
    const ProductFactor a = make_product_factor(std::as_const(factor).view(), true, test_compute());
    const Matrix<double> head_space = head_space_product(a, a, test_compute());
    const std::vector<double> values = symmetric_part_eigenvalues(a, a, head_space, test_compute());
    ASSERT_FALSE(values.empty());
    double expected = 0;  // the trace
    for (std::int64_t row = 0; row < 8; ++row) expected += head_space(row, row);
    EXPECT_NEAR(values.back(), expected, 1e-13 * expected);
    for (std::size_t at = 0; at + 1 < values.size(); ++at) {
      EXPECT_NEAR(values[at], 0, 1e-13 * expected);
    }
  }
}

}  // namespace
}  // namespace attnscope
