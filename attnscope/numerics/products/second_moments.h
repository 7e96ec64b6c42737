// Sums of products of a stream of float32 rows, in float64.
#pragma once

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// sums (n, m) += Σ a bᵀ over the rows of `a` (k, n) and `b` (k, m). Float32 products of up to 256
/// rows make a sum, and these are added in float64: the error of an element is about √256 2^-24,
/// 1e-6, of the sum of its products' magnitudes at most. Shorter sums are more exact and add more
/// often. The same digits for any number of threads. Where `b` is `a` itself, only elements of the
/// lower triangle are sure to be set.
void add_second_moments(MatrixView<const float> a, MatrixView<const float> b,
                        MatrixView<double> sums, const Compute& compute);

// Products of a matrix with second moments of what it reads, which are too large to be copied.

/// W G Wᵀ (m, m), of `weight` W (m, n) and the lower triangle of a symmetric G (n, n), of which
/// some columns at a time are laid out. Only its lower triangle is set. The same digits for any
/// number of threads.
Matrix<double> product_on_both_sides(MatrixView<const double> weight,
                                     MatrixView<const double> lower, const Compute& compute = {});

/// WᵀW (n, n), whole. The same digits for any number of threads.
Matrix<double> columns_gram(MatrixView<const double> weight, const Compute& compute = {});

/// S (n, r) with S Sᵀ = G + added · I, for a positive semidefinite G in its lower triangle, to
/// n 2^-53 of its largest diagonal element: a Cholesky factor with pivots, rows in G's order.
Matrix<double> root_of_lower(MatrixView<const double> lower, double added,
                             const Compute& compute = {});

}  // namespace attnscope
