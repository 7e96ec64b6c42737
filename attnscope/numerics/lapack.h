// The door to BLAS and LAPACK. Every call runs on the calling thread alone: attnscope parallelises
// over matrices, and results must not depend on the number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/core/matrix_view.h"

namespace attnscope::lapack {

enum class Packing { rows, columns };  // which of a block's elements lie together

/// gram (n, n, lower triangle, column-major) += block (n, k) * blockᵀ; `block` is packed tightly.
void add_gram(std::int64_t n, std::int64_t k, const double* block, Packing packing, double* gram);

/// Eigenvalues, ascending, of the symmetric matrix in the lower triangle (column-major, destroyed).
/// Nothing where the solver did not converge. Throws Error(numerical) for what cannot happen with
/// finite input.
std::optional<std::vector<double>> symmetric_eigenvalues(std::int64_t n, double* matrix);

/// Singular values, descending, of a column-major (rows, cols) matrix, destroyed: dgesdd, or
/// dgesvd.
std::optional<std::vector<double>> singular_values_divide_and_conquer(std::int64_t rows,
                                                                      std::int64_t cols,
                                                                      double* matrix);
std::optional<std::vector<double>> singular_values_qr_iteration(std::int64_t rows,
                                                                std::int64_t cols, double* matrix);

/// R (min(rows, cols), cols), row-major, of the QR factorisation of `matrix`.
Matrix<double> qr_r_factor(MatrixView<const double> matrix);

/// a (m, k) times bᵀ, b (n, k): (m, n), row-major.
Matrix<double> multiply_transposed(MatrixView<const double> a, MatrixView<const double> b);

/// The library's own description: name, version, kernels chosen for this CPU.
std::string description();

}  // namespace attnscope::lapack
