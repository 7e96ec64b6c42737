#include "attnscope/numerics/thin_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "attnscope/core/error.h"
#include "attnscope/numerics/lapack.h"
#include "attnscope/numerics/singular_values.h"

namespace attnscope {
namespace {

/// How far ‖left‖² ‖right‖² may exceed σ_1² before Gram matrices give way to QR: errors of σ² then
/// stay below about 1e-11 σ_1².
constexpr double kMostCancellation = 1e4;

/// Below this a pivot of the joint Gram matrix leaves too few digits (about 2^-53 / sqrt of it).
constexpr double kLeastPivot = 1e-9;

[[noreturn]] void throw_not_converged(std::int64_t order) {
  throw Error(ErrorKind::numerical, "matrix of order " + std::to_string(order),
              "no solver converged");
}

/// Row-major copy; columns go in strips, because a transposed view is read down its columns.
Matrix<double> packed(MatrixView<const double> matrix) {
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

/// Eigenvalues of (X + Xᵀ) / 2, ascending.
std::vector<double> symmetrized_eigenvalues(const Matrix<double>& x) {
  const std::int64_t n = x.rows();
  std::vector<double> lower(static_cast<std::size_t>(n * n));
  for (std::int64_t col = 0; col < n; ++col) {
    for (std::int64_t row = col; row < n; ++row) {
      lower[static_cast<std::size_t>(col * n + row)] = (x(row, col) + x(col, row)) / 2;
    }
  }
  if (n == 0) return {};
  auto values = lapack::symmetric_eigenvalues(n, lower.data());
  if (!values) throw_not_converged(n);
  return std::move(*values);
}

/// Descending singular values from the eigenvalues of a Gram matrix, lower triangle, destroyed.
std::vector<double> roots_of_eigenvalues(std::int64_t n, std::vector<double>& gram) {
  auto values = lapack::symmetric_eigenvalues(n, gram.data());
  if (!values) throw_not_converged(n);
  std::reverse(values->begin(), values->end());
  for (double& value : *values) value = std::sqrt(std::max(value, 0.0));
  return std::move(*values);
}

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

/// M itself, (columns, columns).
Matrix<double> whole_product(const ThinFactor& left, const ThinFactor& right) {
  return lapack::multiply_transposed(left.view().transposed(), right.view().transposed());
}

/// What row i of the left factor is multiplied by, and of the right one divided by, to make them
/// equally long: M stays as it is. 0 where either vanishes, and with it the pair's share of M.
std::vector<double> balancing_scales(const ThinFactor& left, const ThinFactor& right) {
  const std::int64_t r = left.rows.rows();
  std::vector<double> scales;
  for (std::int64_t row = 0; row < r; ++row) {
    const auto diagonal = static_cast<std::size_t>(row * r + row);
    const double of_left = left.gram[diagonal], of_right = right.gram[diagonal];
    scales.push_back(of_left > 0 && of_right > 0 ? std::sqrt(std::sqrt(of_right / of_left)) : 0);
  }
  return scales;
}

/// The Gram matrix of the balanced rows of left, then those of right: (2 r, 2 r), lower.
std::vector<double> joint_gram(const ThinFactor& left, const ThinFactor& right,
                               const Matrix<double>& head_space,
                               const std::vector<double>& scales) {
  const std::int64_t r = left.rows.rows(), n = 2 * r;
  std::vector<double> gram(static_cast<std::size_t>(n * n), 0.0);
  const auto inverse = [](double scale) { return scale > 0 ? 1 / scale : 0; };
  for (std::int64_t col = 0; col < r; ++col) {
    const double scale = scales[static_cast<std::size_t>(col)];
    for (std::int64_t row = 0; row < r; ++row) {
      const double other = scales[static_cast<std::size_t>(row)];
      const auto entry = static_cast<std::size_t>(col * r + row);
      if (row >= col) {
        gram[static_cast<std::size_t>(col * n + row)] = left.gram[entry] * scale * other;
        gram[static_cast<std::size_t>((r + col) * n + r + row)] =
            right.gram[entry] * inverse(scale) * inverse(other);
      }
      gram[static_cast<std::size_t>(col * n + r + row)] =
          head_space(row, col) * scale * inverse(other);
    }
  }
  return gram;
}

}  // namespace

ThinFactor make_thin_factor(MatrixView<const double> matrix, bool with_values) {
  ThinFactor factor{.rows = packed(matrix)};
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
    factor.singular_values = singular_values(factor.view()).values;
    return factor;
  }
  factor.gram.assign(static_cast<std::size_t>(r * r), 0.0);
  lapack::add_gram(r, matrix.cols, data, lapack::Packing::rows, factor.gram.data());
  factor.squared_norm_bound = largest_row_sum(r, factor.gram);
  if (with_values) {
    std::vector<double> copy = factor.gram;
    factor.singular_values = roots_of_eigenvalues(r, copy);
  }
  factor.cholesky = factor.gram;
  if (!lapack::cholesky(r, factor.cholesky.data())) factor.cholesky.clear();
  return factor;
}

std::vector<double> thin_product_singular_values(const ThinFactor& left, const ThinFactor& right) {
  const std::int64_t r = left.rows.rows();
  if (left.is_zero() || right.is_zero()) {
    const std::int64_t rank = std::min({r, left.rows.cols(), right.rows.cols()});
    return std::vector<double>(static_cast<std::size_t>(rank), 0.0);
  }
  // σ(M)² are the eigenvalues of G_left G_right, and so of Lᵀ G L with L Lᵀ one of them.
  const bool by_right = !right.cholesky.empty();
  const ThinFactor& factored = by_right ? right : left;
  const ThinFactor& other = by_right ? left : right;
  if (!factored.cholesky.empty() && !other.gram.empty()) {
    std::vector<double> core = other.gram;
    lapack::multiply_by_cholesky(r, core.data(), factored.cholesky.data());
    std::vector<double> values = roots_of_eigenvalues(r, core);
    const double bound = std::sqrt(left.squared_norm_bound * right.squared_norm_bound);
    const double share = values.front() / bound;
    if (share * share * kMostCancellation >= 1) return values;
  }
  return product_singular_values(left.view(), right.view()).values;
}

Matrix<double> head_space_product(const ThinFactor& left, const ThinFactor& right) {
  return lapack::multiply_transposed(right.view(), left.view());
}

std::vector<double> symmetric_part_eigenvalues(const ThinFactor& left, const ThinFactor& right,
                                               const Matrix<double>& head_space) {
  const std::int64_t r = left.rows.rows(), columns = left.rows.cols();
  if (2 * r >= columns) return symmetrized_eigenvalues(whole_product(left, right));

  // With F = [left; right] = L Qᵀ, Q orthonormal, the symmetric part is Q (L_leftᵀ L_right + …) / 2
  // Qᵀ; such an L comes from the Gram matrix of F.
  std::vector<double> gram = joint_gram(left, right, head_space, balancing_scales(left, right));
  const lapack::PivotedCholesky factor = lapack::pivoted_cholesky(2 * r, gram.data());
  if (factor.last_pivot >= kLeastPivot) {
    const MatrixView<const double> l = factor.l.view();
    return symmetrized_eigenvalues(lapack::multiply_transposed(l.row_block(0, r).transposed(),
                                                               l.row_block(r, r).transposed()));
  }
  const Matrix<double> both = stacked_rows(left.view(), right.view());
  const Matrix<double> r_factor = lapack::qr_r_factor(both.view().transposed());
  return symmetrized_eigenvalues(lapack::multiply_transposed(r_factor.view().col_block(0, r),
                                                             r_factor.view().col_block(r, r)));
}

std::vector<std::complex<double>> thin_product_eigenvalues(const ThinFactor& left,
                                                           const ThinFactor& right,
                                                           const Matrix<double>& head_space) {
  const bool whole = left.rows.cols() < left.rows.rows();
  Matrix<double> matrix = whole ? whole_product(left, right) : packed(head_space.view());
  auto values = lapack::eigenvalues(matrix.rows(), matrix.data());
  if (!values) throw_not_converged(matrix.rows());
  return std::move(*values);
}

}  // namespace attnscope
