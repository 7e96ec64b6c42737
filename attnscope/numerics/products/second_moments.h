// Sums of products of float32 rows, accumulated in float64.
#pragma once

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Adds Σ a bᵀ over the rows of `a` (k, n) and `b` (k, m) to sums (n, m). Up to 256 float32
/// products form a partial sum, and partial sums are added in float64. The error of an element is
/// at most about √256 2^-24 = 1e-6, relative to the sum of its products' magnitudes. The digits are
/// the same for any number of threads. If `b` is `a` itself, only the lower triangle is guaranteed
/// to be set.
void add_second_moments(MatrixView<const float> a, MatrixView<const float> b,
                        MatrixView<double> sums, const Compute& compute);

// Products of a matrix with the second moments of its input, which are too large to copy.

/// Returns W G Wᵀ (m, m), for `weight` W (m, n) and the lower triangle of a symmetric G (n, n). A
/// few columns of G at a time are laid out. Sets only the lower triangle of the result. The digits
/// are the same for any number of threads.
Matrix<double> product_on_both_sides(MatrixView<const double> weight,
                                     MatrixView<const double> lower, const Compute& compute = {});

/// Returns WᵀW (n, n), both triangles. The digits are the same for any number of threads.
Matrix<double> columns_gram(MatrixView<const double> weight, const Compute& compute = {});

/// Returns S (n, r) with S Sᵀ = G + added · I, for a positive semidefinite G in its lower triangle,
/// with an error of n 2^-53 of its largest diagonal element. S is a Cholesky factor with pivoting,
/// with rows in G's order.
Matrix<double> root_of_lower(MatrixView<const double> lower, double added,
                             const Compute& compute = {});

}  // namespace attnscope
