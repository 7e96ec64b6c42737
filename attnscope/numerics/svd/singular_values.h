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

/// Down to which size singular values are told from zero: by the numbers that the matrix is made
/// of.
enum class Resolution {
  float32,  // from about 1e-8 σ_1 on, and from 1e-6 σ_1 for a large float32 matrix
  float64,  // from a small multiple of 2^-52 σ_1 on
};

struct SingularValues {
  std::vector<double> values;  // (k,) descending, k = min(rows, cols), none negative
  Resolution resolution = Resolution::float32;
  /// The solver that was used because the usual one did not converge: "dgesdd", "dgesvd".
  std::string_view fallback = {};
};

/// `matrix` (rows, cols) of finite elements, left untouched. Every value is within about sqrt(k *
/// 2^-52) * σ_1 of the exact one, and the sum of squares within rounding: enough for numbers that
/// were float32, also if products of them are float64. resolved_singular_values() is for others.
/// For a large float32 matrix, values are within 1e-6 σ_1 at worst, and cumulative energies within
/// 1e-6. Throws Error(numerical) if no solver converges or σ_1 overflows.
template <class T>
SingularValues singular_values(MatrixView<const T> matrix, const Compute& compute = {});

/// The same, to the bit, for a matrix of finite elements that is read block by block; `largest` is
/// its largest magnitude, from extent_of(). Beside the source it takes singular_values_bytes(): for
/// most shapes little more than half of a Gram matrix and one block. A nearly square float32 matrix
/// that is reduced itself is assembled in memory, and so is a matrix if LAPACK does not converge on
/// its Gram matrix.
template <class T>
SingularValues singular_values(const MatrixBlocks<T>& blocks, double largest,
                               const Compute& compute = {});

/// The peak memory of the function above, if the usual solver converges.
template <class T>
std::uint64_t singular_values_bytes(std::int64_t rows, std::int64_t cols, Kernels kernels = {});

/// The same by LAPACK only: for CPUs without kernels, and as the reference in tests of the kernels.
template <class T>
SingularValues plain_singular_values(MatrixView<const T> matrix, const Compute& compute = {});

/// Singular values of leftᵀ · right, both (r, D): the min(r, D) that can be nonzero. From the QR
/// factors of both, so no D × D matrix is formed if r < D. Throws Error(numerical) likewise.
SingularValues product_singular_values(MatrixView<const double> left,
                                       MatrixView<const double> right, const Compute& compute = {});

/// The error for a matrix whose σ_1 overflows. Only float64 checkpoints can hold such numbers;
/// infinite values would give no measures.
Error norm_overflows(std::int64_t rows, std::int64_t cols);

/// The singular values of one matrix among many, or why there are none.
using SingularResult = std::variant<SingularValues, Error>;

/// `solve` returns SingularValues. A numerical error of one matrix becomes its result and does not
/// end the others.
template <class Solve>
SingularResult singular_result(Solve solve) {
  try {
    return solve();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numerical) throw;
    return error;
  }
}

/// One way to compute singular values; returns nothing if it does not converge.
struct SingularValueSolver {
  std::string_view name;
  std::function<std::optional<std::vector<double>>(MatrixView<const double>)> solve;
};

/// LAPACK's dgesdd, then dgesvd, on the matrix itself: what singular_values falls back to.
std::span<const SingularValueSolver> fallback_solvers();

/// The result of the first solver that converges. Throws Error(numerical) if none does.
SingularValues solve_one_by_one(std::span<const SingularValueSolver> solvers,
                                MatrixView<const double> matrix, const Compute& compute = {});

}  // namespace attnscope
