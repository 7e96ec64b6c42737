#include "attnscope/numerics/svd/resolved_singular_values.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attnscope/numerics/kernels/tiles.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/svd/symmetric_eigenvalues.h"

namespace attnscope {
namespace {

using kernels::kTile;

/// From about this order on, the kernels are as fast as LAPACK on one thread and faster on several.
/// LAPACK also cannot be stopped and would take too long.
constexpr std::int64_t kResolvedByKernelsFrom = 1200;

/// Number of columns of A per QR factorization, in multiples of its rows.
constexpr std::int64_t kStackedSquares = 4;

/// Computes `to` = `from` · 2^-exponent.
void copy_scaled(MatrixView<const double> from, int exponent, MatrixView<double> to) {
  constexpr std::int64_t kStrip = 32;  // strips keep lines in the cache if a view is transposed
  const double scale = std::ldexp(1.0, -exponent);
  for (std::int64_t first = 0; first < from.cols; first += kStrip) {
    const std::int64_t end = std::min(first + kStrip, from.cols);
    for (std::int64_t row = 0; row < from.rows; ++row) {
      for (std::int64_t col = first; col < end; ++col) to(row, col) = from(row, col) * scale;
    }
  }
}

/// Returns a square matrix with the singular values of A (n, k), n ≤ k, times 2^-exponent: A
/// itself, or R of Aᵀ = Q R. Orthogonal factors do not change singular values.
Matrix<double> square_core(const ColumnSource<double>& a, int exponent, const Compute& compute) {
  const std::int64_t n = a.rows(), k = a.cols();
  if (n == k) {
    Matrix<double> core(n, n);
    copy_scaled(a.columns(0, k), exponent, core.view());
    return core;
  }
  Matrix<double> r;
  const std::int64_t step = kStackedSquares * n;
  for (std::int64_t first = 0; first < k; first += step) {
    const std::int64_t count = std::min(step, k - first);
    Matrix<double> stack(r.rows() + count, n);
    std::copy_n(r.data(), r.rows() * n, stack.data());
    copy_scaled(a.columns(first, count).transposed(), exponent,
                stack.view().row_block(r.rows(), count));
    r = qr_r_factor(std::as_const(stack).view(), compute);
  }
  return r;
}

/// Returns σ as the n largest eigenvalues of [0 Cᵀ; C 0], whose rounding errors are relative to
/// σ_1, not to its square.
std::vector<double> values_by_kernels(const Matrix<double>& core, const Compute& compute) {
  const auto n = static_cast<std::size_t>(core.rows());
  // C starts at a tile boundary, so that no tile on the diagonal contains a part of it.
  const std::size_t half = (n + kTile - 1) / kTile;
  double* triangle = zero_triangle(2 * half);
  for (std::size_t row = 0; row < n; ++row) {
    double* line = triangle + kernels::panel_offset(half + row / kTile) + row % kTile;
    for (std::size_t col = 0; col < n; ++col) {
      line[col * kTile] = core(static_cast<std::int64_t>(row), static_cast<std::int64_t>(col));
    }
  }
  const std::vector<double> pairs = tiled_eigenvalues(2 * half, triangle, compute);
  std::vector<double> values(pairs.rbegin(), pairs.rbegin() + static_cast<std::ptrdiff_t>(n));
  for (double& value : values) value = std::max(value, 0.0);
  return values;
}

SingularValues values_of_core(const Matrix<double>& core, const Compute& compute) {
  const bool is_square = core.rows() == core.cols();
  if (is_square && core.rows() >= kResolvedByKernelsFrom && compute.kernels.available()) {
    return {values_by_kernels(core, compute)};
  }
  SingularValues out = solve_one_by_one(fallback_solvers(), core.view(), compute);
  if (out.fallback == fallback_solvers().front().name) out.fallback = {};  // the default here
  return out;
}

/// Undoes the scaling. (rows, cols): the shape for error messages.
SingularValues finished(SingularValues found, int exponent, std::int64_t rows, std::int64_t cols) {
  found.resolution = Resolution::float64;
  for (double& value : found.values) value = std::ldexp(value, exponent);
  if (!found.values.empty() && std::isinf(found.values.front())) throw norm_overflows(rows, cols);
  return found;
}

SingularValues values_of(const ColumnSource<double>& a, double largest, const Compute& compute) {
  const auto n = static_cast<std::size_t>(a.rows());
  if (largest == 0) {
    return {.values = std::vector<double>(n, 0.0), .resolution = Resolution::float64};
  }
  const int exponent = scale_exponent(largest);
  const Matrix<double> core = square_core(a, exponent, compute);
  return finished(values_of_core(core, compute), exponent, a.rows(), a.cols());
}

/// R of the transposed factor, scaled to magnitudes of at most 1.
struct ScaledRoot {
  Matrix<double> r;
  int exponent = 0;
};

ScaledRoot scaled_root(MatrixView<const double> factor, const Compute& compute) {
  const int exponent = scale_exponent(largest_magnitude(factor, compute));
  Matrix<double> scaled(factor.cols, factor.rows);
  copy_scaled(factor.transposed(), exponent, scaled.view());
  return {qr_r_factor(std::as_const(scaled).view(), compute), exponent};
}

}  // namespace

SingularValues resolved_singular_values(MatrixView<const double> matrix, const Compute& compute) {
  const ColumnSource<double> a(matrix.rows <= matrix.cols ? matrix : matrix.transposed());
  return values_of(a, largest_magnitude(matrix, compute), compute);
}

SingularValues resolved_singular_values(const MatrixBlocks<double>& blocks, double largest,
                                        const Compute& compute) {
  return values_of(ColumnSource<double>(blocks, compute), largest, compute);
}

std::uint64_t resolved_singular_values_bytes(std::int64_t rows, std::int64_t cols) {
  const auto n = static_cast<std::uint64_t>(std::min(rows, cols));
  const auto longer = static_cast<std::uint64_t>(std::max(rows, cols));
  constexpr std::uint64_t kSmall = std::uint64_t{4} << 20;  // buffers are rounded up to huge pages
  // A block below the current factor, and LAPACK's copy of both.
  const std::uint64_t block = n * std::min<std::uint64_t>(longer, kStackedSquares * n);
  const std::uint64_t factoring = n == longer ? 2 * n * n : 3 * block + 3 * n * n;
  // The core, and a triangle of twice its order or LAPACK's copy.
  const std::uint64_t padded = n + kTile;
  const std::uint64_t solving = n * n + 2 * padded * (padded + kTile) + block;
  return kSmall + std::max(factoring, solving) * sizeof(double) + n * 8192;
}

SingularValues resolved_product_singular_values(MatrixView<const double> left,
                                                MatrixView<const double> right,
                                                const Compute& compute) {
  // leftᵀ right = (Q_l R_l)(Q_r R_r)ᵀ
  const ScaledRoot l = scaled_root(left, compute), r = scaled_root(right, compute);
  const Matrix<double> core = multiply_transposed(l.r.view(), r.r.view(), compute);
  return finished(resolved_singular_values(core.view(), compute), l.exponent + r.exponent,
                  left.cols, right.cols);
}

std::uint64_t resolved_product_singular_values_bytes(std::int64_t inner, std::int64_t width) {
  const auto size = static_cast<std::uint64_t>(inner) * static_cast<std::uint64_t>(width);
  const auto k = static_cast<std::uint64_t>(std::min(inner, width));
  // A scaled factor with LAPACK's copy, the root of the other one, and the core.
  return (2 * size + 2 * k * static_cast<std::uint64_t>(inner) + k * k) * sizeof(double) +
         resolved_singular_values_bytes(static_cast<std::int64_t>(k), static_cast<std::int64_t>(k));
}

}  // namespace attnscope
