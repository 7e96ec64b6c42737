// The only interface to BLAS and LAPACK. Every call runs on the calling thread only: attnscope
// parallelises over matrices, and results must not depend on the number of threads. Any side may be
// 0 or 1. If a routine refuses an argument, throws Error(numerical); nothing is printed.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"

namespace attnscope::lapack {

enum class Packing { rows, columns };  // which of a block's elements are contiguous

/// gram (n, n, lower triangle, column-major) += block (n, k) * blockᵀ; `block` is packed tightly.
void add_gram(std::int64_t n, std::int64_t k, const double* block, Packing packing, double* gram);

/// Eigenvalues, ascending, of the symmetric matrix in the lower triangle (column-major, destroyed).
/// Nothing if the solver did not converge. Throws Error(numerical) for failures that finite input
/// cannot cause.
std::optional<std::vector<double>> symmetric_eigenvalues(std::int64_t n, double* matrix);

/// The same with eigenvectors: `matrix` becomes n vectors of length 1, one after the other, in the
/// order of the values.
std::optional<std::vector<double>> symmetric_eigenvectors(std::int64_t n, double* matrix);
/// Of the Hermitian matrix in the lower triangle (column-major).
std::optional<std::vector<double>> hermitian_eigenvectors(std::int64_t n,
                                                          std::complex<double>* matrix);

/// Singular values, descending, of a column-major (rows, cols) matrix, destroyed: dgesdd, or
/// dgesvd.
std::optional<std::vector<double>> singular_values_divide_and_conquer(std::int64_t rows,
                                                                      std::int64_t cols,
                                                                      double* matrix);
std::optional<std::vector<double>> singular_values_qr_iteration(std::int64_t rows,
                                                                std::int64_t cols, double* matrix);

/// matrix = U S Vᵀ, thin, k = min(rows, cols): `u` (rows, k) and `vt` (k, cols) column-major.
struct SingularTriples {
  std::vector<double> values, u, vt;  // values descend
};
/// Of a column-major (rows, cols) matrix, destroyed: dgesdd.
std::optional<SingularTriples> singular_triples(std::int64_t rows, std::int64_t cols,
                                                double* matrix);

/// R (min(rows, cols), cols), row-major, of the QR factorisation of `matrix`. Calls `between` from
/// time to time, which may throw to stop.
Matrix<double> qr_r_factor(MatrixView<const double> matrix, const std::function<void()>& between);

/// Orthonormal rows that span the row space of `matrix`, (rank, cols), row-major; the rank counts
/// the pivots of a QR factorisation with column pivoting that exceed `tolerance` times the first.
Matrix<double> row_space_basis(MatrixView<const double> matrix, double tolerance);

/// Eigenvalues, unordered, of the (n, n) matrix (destroyed; row- or column-major). Nothing if the
/// solver did not converge.
std::optional<std::vector<std::complex<double>>> eigenvalues(std::int64_t n, double* matrix);

/// Replaces the lower triangle (column-major) of a positive definite matrix by its Cholesky factor
/// L. False if the matrix is not positive definite to rounding.
bool cholesky(std::int64_t n, double* matrix);

/// Multiplies the row-major (rows, n) matrix by L⁻ᵀ from the right; L (n, n) lower, column-major.
void divide_by_cholesky(std::int64_t rows, std::int64_t n, double* matrix, const double* l);

/// The same by L⁻¹.
void divide_by_cholesky_transposed(std::int64_t rows, std::int64_t n, double* matrix,
                                   const double* l);

/// Replaces the lower triangle of the symmetric `matrix` by that of Lᵀ · matrix · L; both (n, n),
/// column-major. Overwrites the elements above the diagonal.
void multiply_by_cholesky(std::int64_t n, double* matrix, const double* l);

/// matrix = L Lᵀ for a positive semidefinite matrix (lower triangle, column-major, destroyed).
struct PivotedCholesky {
  Matrix<double> l;       // (n, rank), rows in the matrix's order
  double last_pivot = 0;  // the smallest pivot that counted, relative to the largest
};
PivotedCholesky pivoted_cholesky(std::int64_t n, double* matrix);

/// out (m, n) = a (m, k) times bᵀ, b (n, k). Strides not negative; rows of `out` are contiguous.
void multiply_transposed(MatrixView<const double> a, MatrixView<const double> b,
                         MatrixView<double> out);
void multiply_transposed(MatrixView<const float> a, MatrixView<const float> b,
                         MatrixView<float> out);

/// Throws Error(numerical) if a routine has refused an argument on this thread since the last call
/// of this function. Every function above calls it last.
void throw_if_refused();

}  // namespace attnscope::lapack
