#include "attnscope/numerics/products/product_factor.h"

#include <algorithm>
#include <cmath>

#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/singular_values/singular_values.h"

namespace attnscope {

Matrix<double> packed(MatrixView<const double> matrix) {
  // Columns go in strips, because a transposed view is read down its columns.
  constexpr std::int64_t kStrip = 32;
  Matrix<double> out(matrix.rows, matrix.cols);
  for (std::int64_t first = 0; first < matrix.cols; first += kStrip) {
    const std::int64_t end = std::min(first + kStrip, matrix.cols);
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (std::int64_t col = first; col < end; ++col) out(row, col) = matrix(row, col);
    }
  }
  return out;
}

ProductFactor make_product_factor(MatrixView<const double> matrix, bool with_values,
                                  const Compute& compute) {
  ProductFactor factor{.rows = packed(matrix)};
  const std::int64_t r = matrix.rows, count = r * matrix.cols;
  double* data = factor.rows.data();
  double largest = 0;
  for (std::int64_t at = 0; at < count; ++at) {
    if (!std::isfinite(data[at])) {
      factor.finite = false;
      return factor;
    }
    largest = std::max(largest, std::abs(data[at]));
  }
  if (largest == 0) {
    factor.zero = true;
    factor.singular_values.assign(static_cast<std::size_t>(std::min(r, matrix.cols)), 0.0);
    return factor;
  }
  std::frexp(largest, &factor.exponent);
  // In two steps: the inverse of the smallest magnitudes is no float64.
  const double half = std::ldexp(1.0, -factor.exponent / 2);
  const double rest = std::ldexp(1.0, -factor.exponent - -factor.exponent / 2);
  for (std::int64_t at = 0; at < count; ++at) data[at] = data[at] * half * rest;

  if (r > matrix.cols) {
    factor.singular_values = singular_values(factor.view(), compute).values;
    return factor;
  }
  factor.gram =
      factor_gram(gram_lower(factor.view(), 1, compute), r, /*with_cholesky=*/true, compute);
  if (with_values) {
    std::vector<double> copy = factor.gram.lower;
    factor.singular_values = roots_of_eigenvalues(r, copy, compute);
  }
  return factor;
}

}  // namespace attnscope
