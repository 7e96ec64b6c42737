// Products of a matrix with second moments of what it reads, which are too large to be copied.
#pragma once

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

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
