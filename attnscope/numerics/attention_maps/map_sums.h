// Sums over the weights of an attention map, in float64.
#pragma once

#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct MapSums {
  double weights = 0;   // Σ a
  double entropy = 0;   // Σ −a ln a with 0 ln 0 = 0; relative error of each logarithm ≤ 1e-11
  double distance = 0;  // Σ a |row − column|
};

/// Returns sums over a map (T, S) with contiguous rows of finite, non-negative weights. Sets
/// column_squares (S,) to the sum of squares of each column. `causal`, for a map (T, T): elements
/// above the diagonal are zero and not read.
MapSums sum_map(MatrixView<const float> map, bool causal, std::vector<double>& column_squares,
                const Compute& compute = {});

}  // namespace attnscope
