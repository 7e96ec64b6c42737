#include "attnscope/numerics/products/factored_product.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "attnscope/numerics/svd/symmetric_eigenvalues.h"

namespace attnscope {
namespace {

/// A smaller pivot of the joint Gram matrix leaves too few digits (about 2^-53 / sqrt of the
/// pivot).
constexpr double kLeastPivot = 1e-9;

/// Returns the eigenvalues of (X + Xᵀ) / 2, ascending.
std::vector<double> symmetrized_eigenvalues(const Matrix<double>& x, const Compute& compute) {
  const std::int64_t n = x.rows();
  std::vector<double> lower(static_cast<std::size_t>(n * n));
  for (std::int64_t col = 0; col < n; ++col) {
    for (std::int64_t row = col; row < n; ++row) {
      lower[static_cast<std::size_t>(col * n + row)] = (x(row, col) + x(col, row)) / 2;
    }
  }
  if (n == 0) return {};
  auto values = symmetric_eigenvalues(n, lower.data(), compute);
  if (!values) throw_not_converged(n);
  return std::move(*values);
}

/// Returns M itself, (columns, columns).
Matrix<double> whole_product(const ProductFactor& left, const ProductFactor& right,
                             const Compute& compute) {
  return multiply_transposed(left.view().transposed(), right.view().transposed(), compute);
}

/// Returns the factors that row i of the left factor is multiplied by, and row i of the right one
/// divided by, to give them equal norms. M does not change. 0 if either row is zero, because the
/// pair then contributes nothing to M.
std::vector<double> balancing_scales(const ProductFactor& left, const ProductFactor& right) {
  const std::int64_t r = left.rows.rows();
  std::vector<double> scales;
  for (std::int64_t row = 0; row < r; ++row) {
    const auto diagonal = static_cast<std::size_t>(row * r + row);
    const double of_left = left.gram.lower[diagonal], of_right = right.gram.lower[diagonal];
    scales.push_back(of_left > 0 && of_right > 0 ? std::sqrt(std::sqrt(of_right / of_left)) : 0);
  }
  return scales;
}

/// Returns the Gram matrix of the balanced rows of left, then those of right: (2 r, 2 r), lower
/// triangle.
std::vector<double> joint_gram(const ProductFactor& left, const ProductFactor& right,
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
        gram[static_cast<std::size_t>(col * n + row)] = left.gram.lower[entry] * scale * other;
        gram[static_cast<std::size_t>((r + col) * n + r + row)] =
            right.gram.lower[entry] * inverse(scale) * inverse(other);
      }
      gram[static_cast<std::size_t>(col * n + r + row)] =
          head_space(row, col) * scale * inverse(other);
    }
  }
  return gram;
}

}  // namespace

std::vector<double> factored_product_singular_values(const ProductFactor& left,
                                                     const ProductFactor& right,
                                                     const Compute& compute) {
  const std::int64_t r = left.rows.rows();
  if (left.is_zero() || right.is_zero()) {
    const std::int64_t rank = std::min({r, left.rows.cols(), right.rows.cols()});
    return std::vector<double>(static_cast<std::size_t>(rank), 0.0);
  }
  std::vector<double> core = product_core(left.gram, right.gram, r, compute);
  if (!core.empty()) {
    std::vector<double> values = roots_of_eigenvalues(r, core, compute);
    const double bound = std::sqrt(left.gram.squared_norm_bound * right.gram.squared_norm_bound);
    if (trusted(values.front(), bound)) return values;
  }
  return product_singular_values(left.view(), right.view(), compute).values;
}

Matrix<double> head_space_product(const ProductFactor& left, const ProductFactor& right,
                                  const Compute& compute) {
  return multiply_transposed(right.view(), left.view(), compute);
}

std::vector<double> symmetric_part_eigenvalues(const ProductFactor& left,
                                               const ProductFactor& right,
                                               const Matrix<double>& head_space,
                                               const Compute& compute) {
  const std::int64_t r = left.rows.rows(), columns = left.rows.cols();
  if (2 * r >= columns)
    return symmetrized_eigenvalues(whole_product(left, right, compute), compute);

  // With F = [left; right] = L Qᵀ, Q orthonormal, the symmetric part is Q (L_leftᵀ L_right + …) / 2
  // Qᵀ. Such an L comes from the Gram matrix of F.
  std::vector<double> gram = joint_gram(left, right, head_space, balancing_scales(left, right));
  compute.check_stop();
  const lapack::PivotedCholesky factor = lapack::pivoted_cholesky(2 * r, gram.data());
  if (factor.last_pivot >= kLeastPivot) {
    const MatrixView<const double> l = factor.l.view();
    return symmetrized_eigenvalues(multiply_transposed(l.row_block(0, r).transposed(),
                                                       l.row_block(r, r).transposed(), compute),
                                   compute);
  }
  const Matrix<double> both = stacked_rows(left.view(), right.view());
  const Matrix<double> r_factor = qr_r_factor(both.view().transposed(), compute);
  return symmetrized_eigenvalues(multiply_transposed(r_factor.view().col_block(0, r),
                                                     r_factor.view().col_block(r, r), compute),
                                 compute);
}

std::vector<std::complex<double>> factored_product_eigenvalues(const ProductFactor& left,
                                                               const ProductFactor& right,
                                                               const Matrix<double>& head_space,
                                                               const Compute& compute) {
  const bool whole = left.rows.cols() < left.rows.rows();
  Matrix<double> matrix = whole ? whole_product(left, right, compute) : packed(head_space.view());
  compute.check_stop();
  auto values = lapack::eigenvalues(matrix.rows(), matrix.data());
  if (!values) throw_not_converged(matrix.rows());
  return std::move(*values);
}

}  // namespace attnscope
