// Singular values of any matrix, in float64.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/svd/matrix_blocks.h"

namespace attnscope {

/// Smallest singular values that are distinguished from zero, depending on the dtype of the data.
enum class Resolution {
  float32,  // about 1e-8 σ_1, or 1e-6 σ_1 for a large float32 matrix
  float64,  // a small multiple of 2^-52 σ_1
};

struct SingularValues {
  std::vector<double> values;  // (k,) descending, k = min(rows, cols), non-negative
  Resolution resolution = Resolution::float32;
  /// Solver that was used because the usual one did not converge: "dgesdd", "dgesvd".
  std::string_view fallback = {};
};

/// Returns the singular values of `matrix` (rows, cols) of finite elements, which is not modified.
/// Every value is within about sqrt(k * 2^-52) * σ_1 of the exact one, and the sum of squares is
/// exact to rounding. This is enough for float32 data, and for float64 products of it. For other
/// data, use resolved_singular_values(). For a large float32 matrix, values are within 1e-6 σ_1 at
/// worst, and cumulative energies within 1e-6. Throws Error(numerical) if no solver converges or
/// σ_1 overflows.
template <class T>
SingularValues singular_values(MatrixView<const T> matrix, const Compute& compute = {});

/// Returns the same, bit for bit, for a matrix of finite elements that is read block by block.
/// `largest` is its largest magnitude, from extent_of(). In addition to the source it takes
/// singular_values_bytes(): for most shapes little more than half of a Gram matrix and one block. A
/// nearly square float32 matrix that is reduced directly is assembled in memory. So is a matrix if
/// LAPACK does not converge on its Gram matrix.
template <class T>
SingularValues singular_values(const MatrixBlocks<T>& blocks, double largest,
                               const Compute& compute = {});

/// Returns the peak memory of the function above in bytes, if the usual solver converges.
template <class T>
std::uint64_t singular_values_bytes(std::int64_t rows, std::int64_t cols, Kernels kernels = {});

/// Returns the same, computed only by LAPACK: for CPUs without kernels, and as the reference in
/// tests of the kernels.
template <class T>
SingularValues plain_singular_values(MatrixView<const T> matrix, const Compute& compute = {});

/// Returns the singular values of leftᵀ · right, both (r, D): the min(r, D) that can be nonzero. It
/// uses the QR factors of both, so no D × D matrix is formed if r < D. Throws Error(numerical) like
/// singular_values().
SingularValues product_singular_values(MatrixView<const double> left,
                                       MatrixView<const double> right, const Compute& compute = {});

/// Returns the error for a matrix whose σ_1 overflows. Only float64 checkpoints can contain such
/// values, and infinite values allow no measures.
Error norm_overflows(std::int64_t rows, std::int64_t cols);

/// Singular values of one matrix among many, or why there are none.
using SingularResult = std::variant<SingularValues, Error>;

/// Returns the SingularValues of `solve`. A numerical error of one matrix becomes its result and
/// does not stop the others.
template <class Solve>
SingularResult singular_result(Solve solve) {
  try {
    return solve();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numerical) throw;
    return error;
  }
}

/// A method to compute singular values. `solve` returns nothing if it does not converge.
struct SingularValueSolver {
  std::string_view name;
  std::function<std::optional<std::vector<double>>(MatrixView<const double>)> solve;
};

/// Returns LAPACK's dgesdd, then dgesvd, on the matrix itself: the fallback of singular_values().
std::span<const SingularValueSolver> fallback_solvers();

/// Returns the result of the first solver that converges. Throws Error(numerical) if none does.
SingularValues solve_one_by_one(std::span<const SingularValueSolver> solvers,
                                MatrixView<const double> matrix, const Compute& compute = {});

}  // namespace attnscope
