// The only interface to BLAS and LAPACK. Every call runs on the calling thread only: attnscope
// parallelizes over matrices, and results must not depend on the number of threads. Any dimension
// may be 0 or 1. If a routine rejects an argument, functions throw Error(numerical); nothing is
// printed.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"

namespace attnscope::lapack {

enum class Packing { rows, columns };  // which elements of a block are contiguous

/// Adds block (n, k) * blockᵀ to gram (n, n; lower triangle, column-major). `block` is packed
/// tightly.
void add_gram(std::int64_t n, std::int64_t k, const double* block, Packing packing, double* gram);

/// Returns the eigenvalues, ascending, of the symmetric matrix in the lower triangle (column-major,
/// destroyed). Empty if the solver did not converge. Throws Error(numerical) for failures that
/// finite input cannot cause.
std::optional<std::vector<double>> symmetric_eigenvalues(std::int64_t n, double* matrix);

/// Returns the eigenvalues and replaces `matrix` by n eigenvectors of length 1, one after the
/// other, in the order of the values.
std::optional<std::vector<double>> symmetric_eigenvectors(std::int64_t n, double* matrix);
/// Does the same for the Hermitian matrix in the lower triangle (column-major).
std::optional<std::vector<double>> hermitian_eigenvectors(std::int64_t n,
                                                          std::complex<double>* matrix);

/// Returns the singular values, descending, of a column-major (rows, cols) matrix, destroyed, by
/// dgesdd or dgesvd.
std::optional<std::vector<double>> singular_values_divide_and_conquer(std::int64_t rows,
                                                                      std::int64_t cols,
                                                                      double* matrix);
std::optional<std::vector<double>> singular_values_qr_iteration(std::int64_t rows,
                                                                std::int64_t cols, double* matrix);

/// matrix = U S Vᵀ, thin, k = min(rows, cols): `u` (rows, k) and `vt` (k, cols) column-major.
struct SingularTriples {
  std::vector<double> values, u, vt;  // values are descending
};
/// Returns the triples of a column-major (rows, cols) matrix, destroyed, by dgesdd.
std::optional<SingularTriples> singular_triples(std::int64_t rows, std::int64_t cols,
                                                double* matrix);

/// Returns R (min(rows, cols), cols), row-major, of the QR factorization of `matrix`. Calls
/// `between` from time to time, which may throw to stop.
Matrix<double> qr_r_factor(MatrixView<const double> matrix, const std::function<void()>& between);

/// Returns orthonormal rows that span the row space of `matrix`, (rank, cols), row-major. The rank
/// is the number of pivots that exceed `tolerance` times the first, in a QR factorization with
/// column pivoting.
Matrix<double> row_space_basis(MatrixView<const double> matrix, double tolerance);

/// Returns the eigenvalues, unordered, of the (n, n) matrix (destroyed; row- or column-major).
/// Empty if the solver did not converge.
std::optional<std::vector<std::complex<double>>> eigenvalues(std::int64_t n, double* matrix);

/// Replaces the lower triangle (column-major) of a positive definite matrix by its Cholesky factor
/// L. Returns false if the matrix is not positive definite to rounding.
bool cholesky(std::int64_t n, double* matrix);

/// Multiplies the row-major (rows, n) matrix by L⁻ᵀ from the right; L (n, n) lower, column-major.
void divide_by_cholesky(std::int64_t rows, std::int64_t n, double* matrix, const double* l);

/// Multiplies it by L⁻¹ instead.
void divide_by_cholesky_transposed(std::int64_t rows, std::int64_t n, double* matrix,
                                   const double* l);

/// Replaces the lower triangle of the symmetric `matrix` by that of Lᵀ · matrix · L; both (n, n),
/// column-major. Overwrites the elements above the diagonal.
void multiply_by_cholesky(std::int64_t n, double* matrix, const double* l);

/// matrix = L Lᵀ for a positive semidefinite matrix (lower triangle, column-major, destroyed).
struct PivotedCholesky {
  Matrix<double> l;       // (n, rank), rows in the matrix's order
  double last_pivot = 0;  // smallest pivot used, relative to the largest
};
PivotedCholesky pivoted_cholesky(std::int64_t n, double* matrix);

/// Computes out (m, n) = a (m, k) · bᵀ, with b (n, k). Strides must not be negative; rows of `out`
/// are contiguous.
void multiply_transposed(MatrixView<const double> a, MatrixView<const double> b,
                         MatrixView<double> out);
void multiply_transposed(MatrixView<const float> a, MatrixView<const float> b,
                         MatrixView<float> out);

/// Throws Error(numerical) if a routine has rejected an argument on this thread since the last call
/// of this function. Every function above calls it last.
void throw_if_refused();

}  // namespace attnscope::lapack
