// Singular values of any matrix, in float64.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "attnscope/core/error.h"
#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/singular_values/matrix_blocks.h"

namespace attnscope {

struct SingularValues {
  std::vector<double> values;  // (k,) descending, k = min(rows, cols), none negative
  /// The solver that answered where the usual one did not converge: "dgesdd", "dgesvd".
  std::string_view fallback = {};
};

/// `matrix` (rows, cols) of finite elements, left untouched. Every value is within about
/// sqrt(k * 2^-52) * σ_1 of the exact one, and the sum of squares within rounding; but of a large
/// float32 matrix within 1e-6 σ_1 at worst, and its cumulative energies within 1e-6.
/// Throws Error(numerical) where no solver converges, or where σ_1 overflows.
template <class T>
SingularValues singular_values(MatrixView<const T> matrix, const Compute& compute = {});

/// The same of a matrix of finite elements that is read block by block, to the bit; `largest` of
/// its magnitudes as extent_of() says it. Beside the source it holds singular_values_bytes(): of
/// most shapes little more than half of a Gram matrix and one block. A nearly square float32 matrix
/// that is reduced itself is made whole, and so is one on whose Gram matrix LAPACK does not
/// converge.
template <class T>
SingularValues singular_values(const MatrixBlocks<T>& blocks, double largest,
                               const Compute& compute = {});

/// What the above holds at most, where the usual solver converges.
template <class T>
std::uint64_t singular_values_bytes(std::int64_t rows, std::int64_t cols, Kernels kernels = {});

/// The same by LAPACK alone: what runs where the CPU has no kernels, and what tests hold the
/// kernels against.
template <class T>
SingularValues plain_singular_values(MatrixView<const T> matrix, const Compute& compute = {});

/// Singular values of leftᵀ · right, both (r, D): the min(r, D) that need not vanish. From the QR
/// factors of both, so no D × D matrix is formed where r < D. Throws Error(numerical) likewise.
SingularValues product_singular_values(MatrixView<const double> left,
                                       MatrixView<const double> right, const Compute& compute = {});

/// Only float64 checkpoints hold such numbers; no measure could be read from infinite values.
Error norm_overflows(std::int64_t rows, std::int64_t cols);

/// The singular values of one matrix among many, or why there are none.
using SingularResult = std::variant<SingularValues, Error>;

/// `solve` gives the SingularValues; an error that is one matrix's alone does not end the rest.
template <class Solve>
SingularResult singular_result(Solve solve) {
  try {
    return solve();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numerical) throw;
    return error;
  }
}

/// One way to get singular values; nothing where it does not converge.
struct SingularValueSolver {
  std::string_view name;
  std::function<std::optional<std::vector<double>>(MatrixView<const double>)> solve;
};

/// LAPACK's dgesdd, then dgesvd, on the matrix itself: what singular_values falls back to.
std::span<const SingularValueSolver> fallback_solvers();

/// The answer of the first that converges. Throws Error(numerical) where none does.
SingularValues solve_in_turn(std::span<const SingularValueSolver> solvers,
                             MatrixView<const double> matrix, const Compute& compute = {});

}  // namespace attnscope
