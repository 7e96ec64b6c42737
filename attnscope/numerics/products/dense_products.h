// Products and factorizations of dense float64 matrices.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Returns a (m, k) · bᵀ, with b (n, k): (m, n), row-major. Strides must not be negative.
Matrix<double> multiply_transposed(MatrixView<const double> a, MatrixView<const double> b,
                                   const Compute& compute = {});

/// Adds rows · rowsᵀ to gram (n, n), lower triangle, column-major. `rows` (n, k) is row-major
/// without gaps.
void add_products_of_rows(std::int64_t n, std::int64_t k, const double* rows, double* gram);

/// Returns R (min(rows, cols), cols), row-major, of the QR factorization of `matrix`.
Matrix<double> qr_r_factor(MatrixView<const double> matrix, const Compute& compute = {});

/// Returns R (min(d, D), d) with RᵀR = rows · rowsᵀ for a finite `rows` (d, D). ‖R X‖ = ‖rowsᵀ X‖
/// for every X, with a relative error of 1e-10. Uses the Gram matrix if that is accurate enough,
/// else qr_r_factor().
Matrix<double> gram_root(MatrixView<const double> rows, const Compute& compute = {});

/// Returns orthonormal rows that span the row space of `matrix`, (rank, cols), row-major. The rank
/// is the number of pivots that exceed `tolerance` times the first, in a QR factorization with
/// column pivoting.
Matrix<double> row_space_basis(MatrixView<const double> matrix, double tolerance,
                               const Compute& compute = {});

}  // namespace attnscope
