#include "attnscope/numerics/svd/singular_values.h"
#include "attnscope/numerics/vector_loops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/products/kernels/kernels.h"
#include "attnscope/numerics/svd/bidiagonal_reduction.h"
#include "attnscope/numerics/svd/float32_gram.h"
#include "attnscope/numerics/svd/symmetric_eigenvalues.h"

namespace attnscope {
namespace {

/// Below this order LAPACK is as fast as the kernels.
constexpr std::int64_t kKernelsFrom = 32;

/// Returns the eigenvalues, ascending, of the Gram matrix of A (n, k) times scale², by LAPACK.
template <class T>
std::optional<std::vector<double>> plain_eigenvalues(const ColumnSource<T>& a, double scale,
                                                     const Compute& compute) {
  std::vector<double> gram = plain_gram_lower(a, scale, compute);
  compute.check_stop();
  return lapack::symmetric_eigenvalues(a.rows(), gram.data());
}

/// Returns the same, by the kernels.
template <class T>
std::vector<double> kernel_eigenvalues(const ColumnSource<T>& a, double scale,
                                       const Compute& compute) {
  const auto n = static_cast<std::size_t>(a.rows());
  const std::size_t tiles = (n + kernels::kTile - 1) / kernels::kTile;
  std::vector<double> values = tiled_eigenvalues(tiles, gram_tiles(a, scale, compute), compute);
  // Padding rows of the last tile gave zeros, and the smallest eigenvalues of a Gram matrix are
  // zero to rounding.
  values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(n));
  return values;
}

/// Returns σ as the square roots of the eigenvalues of the Gram matrix, in float64. The error of an
/// eigenvalue is a small multiple of 2^-53 of the largest. The error of a σ is at most the root of
/// that, far below 1e-6 of σ_1.
template <class T>
std::optional<std::vector<double>> gram_singular_values(const ColumnSource<T>& a, double largest,
                                                        const Compute& compute) {
  if (largest == 0) return std::vector<double>(static_cast<std::size_t>(a.rows()), 0.0);
  // Scaling by a power of two is exact.
  const int exponent = scale_exponent(largest);
  const double scale = std::ldexp(1.0, -exponent);
  std::optional<std::vector<double>> values;
  if (compute.kernels.available() && a.rows() >= kKernelsFrom) {
    values = kernel_eigenvalues(a, scale, compute);
  } else {
    values = plain_eigenvalues(a, scale, compute);
    if (!values) return std::nullopt;
  }
  std::reverse(values->begin(), values->end());
  for (double& value : *values) {
    value = std::ldexp(std::sqrt(std::max(value, 0.0)), exponent);
  }
  return values;
}

std::string matrix_text(std::int64_t rows, std::int64_t cols) {
  return "matrix " + std::to_string(rows) + " x " + std::to_string(cols);
}

/// Returns the values. Throws Error(numerical) if the norm overflows.
SingularValues checked(std::vector<double> values, std::int64_t rows, std::int64_t cols) {
  if (!values.empty() && std::isinf(values.front())) throw norm_overflows(rows, cols);
  return {std::move(values)};
}

template <class Solve>
SingularValueSolver on_a_copy(std::string_view name, Solve solve) {
  return {name, [solve](MatrixView<const double> matrix) {
            // Column-major copy of the transpose: the same singular values, and the cheapest copy.
            std::vector<double> copy;
            copy.reserve(static_cast<std::size_t>(matrix.rows * matrix.cols));
            for (std::int64_t row = 0; row < matrix.rows; ++row) {
              for (std::int64_t col = 0; col < matrix.cols; ++col) copy.push_back(matrix(row, col));
            }
            return solve(matrix.cols, matrix.rows, copy.data());
          }};
}

template <class T>
SingularValues fallback_singular_values(MatrixView<const T> matrix, const Compute& compute) {
  Matrix<double> copy(matrix.rows, matrix.cols);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) copy(row, col) = matrix(row, col);
  }
  return solve_one_by_one(fallback_solvers(), std::as_const(copy).view(), compute);
}

template <class T>
SingularValues gram_or_fallback(MatrixView<const T> matrix, const Compute& compute) {
  const ColumnSource<T> a(matrix.rows <= matrix.cols ? matrix : matrix.transposed());
  if (auto values = gram_singular_values(a, largest_magnitude(matrix, compute), compute)) {
    return checked(std::move(*values), matrix.rows, matrix.cols);
  }
  return fallback_singular_values(matrix, compute);
}

/// Returns whether the kernels reduce a matrix of this type and shape directly, which needs all of
/// it in memory. Otherwise they sum its Gram matrix in float32.
template <class T>
bool is_reduced(std::int64_t rows, std::int64_t cols, Kernels kernels) {
  return std::is_same_v<T, float> && kernels.available() && worth_reducing(rows, cols);
}
template <class T>
bool is_summed_in_float32(std::int64_t rows, std::int64_t cols, Kernels kernels) {
  return std::is_same_v<T, float> && kernels.available() && !worth_reducing(rows, cols) &&
         worth_float32_gram(rows, cols);
}

}  // namespace

template <class T>
SingularValues singular_values(MatrixView<const T> matrix, const Compute& compute) {
  if constexpr (std::is_same_v<T, float>) {
    if (is_reduced<T>(matrix.rows, matrix.cols, compute.kernels)) {
      if (auto values = bidiagonal_singular_values(matrix, compute)) return {std::move(*values)};
    } else if (is_summed_in_float32<T>(matrix.rows, matrix.cols, compute.kernels)) {
      if (auto values = float32_gram_singular_values(matrix, compute)) return {std::move(*values)};
    }
  }
  return gram_or_fallback(matrix, compute);
}

template <class T>
SingularValues singular_values(const MatrixBlocks<T>& blocks, double largest,
                               const Compute& compute) {
  const std::int64_t rows = blocks.rows, cols = blocks.cols;
  if (is_reduced<T>(rows, cols, compute.kernels)) {
    const Matrix<T> whole = assembled(blocks, compute);
    return singular_values(whole.view(), compute);
  }
  const ColumnSource<T> a(blocks, compute);
  if constexpr (std::is_same_v<T, float>) {
    if (is_summed_in_float32<T>(rows, cols, compute.kernels)) {
      if (auto values = float32_gram_singular_values(a, largest, compute)) {
        return {std::move(*values)};
      }
    }
  }
  if (auto values = gram_singular_values(a, largest, compute)) {
    return checked(std::move(*values), rows, cols);
  }
  const Matrix<T> whole = assembled(blocks, compute);
  return fallback_singular_values(whole.view(), compute);
}

template <class T>
std::uint64_t singular_values_bytes(std::int64_t rows, std::int64_t cols, Kernels kernels) {
  const auto n = static_cast<std::uint64_t>(std::min(rows, cols));
  const auto longer = static_cast<std::uint64_t>(std::max(rows, cols));
  const std::uint64_t depth = std::min<std::uint64_t>(longer, kernels::kGramDepth);
  const std::uint64_t block = n * depth * sizeof(T), packed = n * depth * sizeof(double);
  constexpr std::uint64_t kSmall = std::uint64_t{4} << 20;  // buffers are rounded up to huge pages
  // LAPACK needs the whole Gram matrix.
  if (!kernels.available()) return kSmall + block + n * n * sizeof(double) + packed;
  // The whole matrix as read, its copy in panels, and some columns of panels.
  if (is_reduced<T>(rows, cols, kernels)) {
    return kSmall + 2 * n * longer * sizeof(T) + (n + longer) * 4096;
  }
  // The triangle, a packed block, and the buffers of the band reduction: some panels and the band.
  return kSmall + block + n * (n + 2 * kernels::kTile) / 2 * sizeof(double) + packed + n * 4096;
}

template <class T>
SingularValues plain_singular_values(MatrixView<const T> matrix, const Compute& compute) {
  Compute plain = compute;
  plain.kernels = Kernels::named("none");
  return gram_or_fallback(matrix, plain);
}

template SingularValues singular_values(const MatrixBlocks<float>&, double, const Compute&);
template SingularValues singular_values(const MatrixBlocks<double>&, double, const Compute&);
template std::uint64_t singular_values_bytes<float>(std::int64_t, std::int64_t, Kernels);
template std::uint64_t singular_values_bytes<double>(std::int64_t, std::int64_t, Kernels);
template SingularValues singular_values(MatrixView<const float>, const Compute&);
template SingularValues singular_values(MatrixView<const double>, const Compute&);
template SingularValues plain_singular_values(MatrixView<const float>, const Compute&);
template SingularValues plain_singular_values(MatrixView<const double>, const Compute&);

SingularValues product_singular_values(MatrixView<const double> left,
                                       MatrixView<const double> right, const Compute& compute) {
  // leftᵀ right = (Q_l R_l)(Q_r R_r)ᵀ, and orthogonal factors do not change singular values.
  const Matrix<double> r_left = qr_r_factor(left.transposed(), compute);
  const Matrix<double> r_right = qr_r_factor(right.transposed(), compute);
  const Matrix<double> core = multiply_transposed(r_left.view(), r_right.view(), compute);
  if (!all_finite(std::as_const(core).view())) throw norm_overflows(left.cols, right.cols);
  return singular_values(core.view(), compute);
}

Error norm_overflows(std::int64_t rows, std::int64_t cols) {
  return Error(ErrorKind::numerical, matrix_text(rows, cols), "its norm overflows float64");
}

std::span<const SingularValueSolver> fallback_solvers() {
  static const std::array solvers = {
      on_a_copy("dgesdd", lapack::singular_values_divide_and_conquer),
      on_a_copy("dgesvd", lapack::singular_values_qr_iteration),
  };
  return solvers;
}

SingularValues solve_one_by_one(std::span<const SingularValueSolver> solvers,
                                MatrixView<const double> matrix, const Compute& compute) {
  for (const SingularValueSolver& solver : solvers) {
    compute.check_stop();
    if (auto values = solver.solve(matrix)) {
      return {.values = std::move(*values), .fallback = solver.name};
    }
  }
  throw Error(ErrorKind::numerical, matrix_text(matrix.rows, matrix.cols), "no solver converged");
}

}  // namespace attnscope
