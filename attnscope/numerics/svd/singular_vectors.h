// The leading singular vectors of products of thin factors and of whole matrices, in float64.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct SingularDirections {
  std::vector<double> values;  // all that can be nonzero, descending
  /// (count, D): unit rows, those of the largest values. `left` is empty where only one side was
  /// asked for.
  Matrix<double> left, right;
};

/// Of leftᵀ · right for left and right (r, D), r ≤ D, finite, without anything of the size D × D:
/// M = Σ values[i] left[i]ᵀ right[i]. At most `count` directions. Throws Error(numerical) where
/// LAPACK does not converge.
SingularDirections product_directions(MatrixView<const double> left, MatrixView<const double> right,
                                      std::int64_t count, const Compute& compute);

/// The right singular vectors of a matrix (rows, D), finite. No Gram matrix is formed, so that
/// small values and their vectors are as accurate as LAPACK's.
SingularDirections row_directions(MatrixView<const double> matrix, std::int64_t count,
                                  const Compute& compute);

}  // namespace attnscope
