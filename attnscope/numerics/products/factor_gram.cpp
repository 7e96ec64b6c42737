#include "attnscope/numerics/products/factor_gram.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/numerics/lapack.h"
#include "attnscope/numerics/singular_values/symmetric_eigenvalues.h"

namespace attnscope {
namespace {

/// How far ‖left‖² ‖right‖² may exceed σ_1² before Gram matrices give way to QR: errors of σ² then
/// stay below about 1e-11 σ_1².
constexpr double kMaxCancellation = 1e4;

/// Of magnitudes, over the rows of a symmetric matrix, lower triangle: no eigenvalue exceeds it.
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
