#include "attnscope/numerics/products/dense_products.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/gram.h"

namespace attnscope {
namespace {

/// Returns the number of product rows computed between two checks of the stop token: about 2^33
/// operations, 0.1 to 0.2 s. BLAS repacks the other factor for each block, which costs little in
/// comparison.
std::int64_t rows_at_once(std::int64_t cols, std::int64_t inner) {
  constexpr std::int64_t kOperations = std::int64_t{1} << 32, kLeast = 192;
  const std::int64_t rows = kOperations / std::max<std::int64_t>(1, cols * inner);
  return std::max(kLeast, rows / kLeast * kLeast);
}

/// Returns ‖L‖² ‖L⁻¹‖² (Frobenius) of a lower triangle (n, n), column-major, zero above the
/// diagonal. This is an upper bound on the squared condition number.
double squared_condition_bound(std::int64_t n, const double* l) {
  double own = 0, inverse = 0;
  std::vector<double> solved(static_cast<std::size_t>(n));
  for (std::int64_t unit = 0; unit < n; ++unit) {
    std::fill(solved.begin() + unit, solved.end(), 0.0);
    solved[static_cast<std::size_t>(unit)] = 1;
    for (std::int64_t col = unit; col < n; ++col) {
      const double* column = l + col * n;
      double* const below = solved.data();
      const double value = below[col] /= column[col];
      inverse += value * value;
      for (std::int64_t row = col + 1; row < n; ++row) below[row] -= value * column[row];
    }
    for (std::int64_t row = unit; row < n; ++row) own += l[unit * n + row] * l[unit * n + row];
  }
  return own * inverse;
}

/// Returns R from the Cholesky factor of the Gram matrix. Empty if rounding of the Gram matrix may
/// change ‖R X‖ for some X by a relative 1e-10. This error is about 2^-53 times the squared
/// condition number.
std::optional<Matrix<double>> cholesky_root(MatrixView<const double> rows, const Compute& compute) {
  constexpr double kLargestSquaredCondition = 1e6;
  const int exponent = scale_exponent(largest_magnitude(rows, compute));
  std::vector<double> l = gram_lower(rows, std::ldexp(1.0, -exponent), compute);
  if (!lapack::cholesky(rows.rows, l.data())) return std::nullopt;
  if (!(squared_condition_bound(rows.rows, l.data()) <= kLargestSquaredCondition)) {
    return std::nullopt;
  }
  // The columns of L are the rows of R.
  Matrix<double> r(rows.rows, rows.rows);
  std::transform(l.begin(), l.end(), r.data(),
                 [&](double value) { return std::ldexp(value, exponent); });
  return r;
}

/// Returns a row-major copy. A transposed view is read along its contiguous lines.
Matrix<double> row_major(MatrixView<const double> matrix) {
  constexpr std::int64_t kBlock = 32;
  Matrix<double> out(matrix.rows, matrix.cols);
  for (std::int64_t first = 0; first < matrix.cols; first += kBlock) {
    const std::int64_t end = std::min(first + kBlock, matrix.cols);
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (std::int64_t col = first; col < end; ++col) out(row, col) = matrix(row, col);
    }
  }
  return out;
}

}  // namespace

Matrix<double> multiply_transposed(MatrixView<const double> a, MatrixView<const double> b,
                                   const Compute& compute) {
  Matrix<double> out(a.rows, b.rows);
  const std::int64_t step = rows_at_once(b.rows, a.cols);
  for (std::int64_t first = 0; first < a.rows; first += step) {
    compute.check_stop();
    const std::int64_t count = std::min(step, a.rows - first);
    lapack::multiply_transposed(a.row_block(first, count), b, out.view().row_block(first, count));
  }
  return out;
}

void add_products_of_rows(std::int64_t n, std::int64_t k, const double* rows, double* gram) {
  lapack::add_gram(n, k, rows, lapack::Packing::rows, gram);
}

Matrix<double> qr_r_factor(MatrixView<const double> matrix, const Compute& compute) {
  return lapack::qr_r_factor(matrix, [&] { compute.check_stop(); });
}

Matrix<double> gram_root(MatrixView<const double> rows, const Compute& compute) {
  compute.check_stop();
  if (rows.rows <= rows.cols) {
    if (auto root = cholesky_root(rows, compute)) return *std::move(root);
  }
  return qr_r_factor(row_major(rows).view().transposed(), compute);
}

Matrix<double> row_space_basis(MatrixView<const double> matrix, double tolerance,
                               const Compute& compute) {
  compute.check_stop();
  return lapack::row_space_basis(matrix, tolerance);
}

}  // namespace attnscope
