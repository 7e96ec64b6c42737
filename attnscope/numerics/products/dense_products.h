// Products and factorisations of dense float64 matrices.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// a (m, k) times bᵀ, b (n, k): (m, n), row-major. Strides not negative.
Matrix<double> multiply_transposed(MatrixView<const double> a, MatrixView<const double> b,
                                   const Compute& compute = {});

/// gram (n, n), lower triangle, column-major += rows · rowsᵀ, where `rows` (n, k) is row-major
/// without gaps.
void add_products_of_rows(std::int64_t n, std::int64_t k, const double* rows, double* gram);

/// R (min(rows, cols), cols), row-major, of the QR factorisation of `matrix`.
Matrix<double> qr_r_factor(MatrixView<const double> matrix, const Compute& compute = {});

/// R (min(d, D), d) with RᵀR = rows · rowsᵀ for a finite `rows` (d, D), so that ‖R X‖ = ‖rowsᵀ X‖
/// for every X, to a relative 1e-10. From the Gram matrix if that keeps the digits, else by
/// qr_r_factor().
Matrix<double> gram_root(MatrixView<const double> rows, const Compute& compute = {});

/// Orthonormal rows that span the row space of `matrix`, (rank, cols), row-major; the rank counts
/// the pivots of a QR factorisation with column pivoting that exceed `tolerance` times the first.
Matrix<double> row_space_basis(MatrixView<const double> matrix, double tolerance,
                               const Compute& compute = {});

}  // namespace attnscope
