#include "attnscope/numerics/products/product_factor.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "attnscope/numerics/svd/symmetric_eigenvalues.h"

namespace attnscope {

Matrix<double> packed(MatrixView<const double> matrix) {
  // Columns are copied in strips, because a transposed view is read down its columns.
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
  // Scales in two steps, because the inverse of the smallest magnitudes is not a float64.
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

namespace {

/// Maximum ratio of ‖left‖² ‖right‖² to σ_1² for Gram matrices; beyond it, QR is used. Errors of σ²
/// then stay below about 1e-11 σ_1².
constexpr double kMaxCancellation = 1e4;

/// Returns the largest sum of magnitudes over a row of a symmetric matrix, lower triangle. No
/// eigenvalue exceeds it.
double largest_row_sum(std::int64_t n, const std::vector<double>& lower) {
  std::vector<double> sums(static_cast<std::size_t>(n), 0.0);
  for (std::int64_t col = 0; col < n; ++col) {
    for (std::int64_t row = col; row < n; ++row) {
      const double magnitude = std::abs(lower[static_cast<std::size_t>(col * n + row)]);
      sums[static_cast<std::size_t>(row)] += magnitude;
      if (row != col) sums[static_cast<std::size_t>(col)] += magnitude;
    }
  }
  return *std::max_element(sums.begin(), sums.end());
}

std::vector<double> cholesky_of(std::int64_t r, std::vector<double> lower, const Compute& compute) {
  compute.check_stop();
  if (!lapack::cholesky(r, lower.data())) lower.clear();
  return lower;
}

}  // namespace

FactorGram factor_gram(std::vector<double> lower, std::int64_t r, bool with_cholesky,
                       const Compute& compute) {
  FactorGram gram{.squared_norm_bound = largest_row_sum(r, lower), .lower = std::move(lower)};
  if (with_cholesky) gram.cholesky = cholesky_of(r, gram.lower, compute);
  return gram;
}

std::vector<double> product_core(const FactorGram& left, const FactorGram& right, std::int64_t r,
                                 const Compute& compute) {
  if (left.lower.empty() || right.lower.empty()) return {};
  const bool by_right = !right.cholesky.empty();
  const std::vector<double> of_left =
      by_right ? std::vector<double>() : cholesky_of(r, left.lower, compute);
  const std::vector<double>& l = by_right ? right.cholesky : of_left;
  if (l.empty()) return {};
  std::vector<double> core = by_right ? left.lower : right.lower;
  compute.check_stop();
  lapack::multiply_by_cholesky(r, core.data(), l.data());
  return core;
}

std::vector<double> roots_of_eigenvalues(std::int64_t n, std::vector<double>& gram,
                                         const Compute& compute) {
  auto values = symmetric_eigenvalues(n, gram.data(), compute);
  if (!values) throw_not_converged(n);
  std::reverse(values->begin(), values->end());
  for (double& value : *values) value = std::sqrt(std::max(value, 0.0));
  return std::move(*values);
}

bool trusted(double largest, double norm_bound) {
  const double share = largest / norm_bound;
  return share * share * kMaxCancellation >= 1;
}

void throw_not_converged(std::int64_t order) {
  throw Error(ErrorKind::numerical, "matrix of order " + std::to_string(order),
              "no solver converged");
}

}  // namespace attnscope
