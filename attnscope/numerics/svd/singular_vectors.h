// Leading singular vectors of products of thin factors and of whole matrices, in float64.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct SingularDirections {
  std::vector<double> values;  // all values that can be nonzero, descending
  /// (count, D): unit rows for the largest values. `left` is empty if only one side was requested.
  Matrix<double> left, right;
};

/// Returns at most `count` directions of M = leftᵀ · right for finite left and right (r, D), r ≤ D,
/// without forming a D × D matrix: M = Σ values[i] left[i]ᵀ right[i]. Throws Error(numerical) if
/// LAPACK does not converge.
SingularDirections product_directions(MatrixView<const double> left, MatrixView<const double> right,
                                      std::int64_t count, const Compute& compute);

/// Returns the right singular vectors of a finite matrix (rows, D). No Gram matrix is formed, so
/// that small values and their vectors are as accurate as LAPACK's.
SingularDirections row_directions(MatrixView<const double> matrix, std::int64_t count,
                                  const Compute& compute);

}  // namespace attnscope
