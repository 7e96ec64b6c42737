// Sums over the weights of an attention map, in float64.
#pragma once

#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct MapSums {
  double weights = 0;   // Σ a
  double entropy = 0;   // Σ −a ln a, where 0 ln 0 = 0; each logarithm within 1e-11 of itself
  double distance = 0;  // Σ a |row − column|
};

/// Sums over a map (T, S) with contiguous rows of finite, non-negative weights. column_squares
/// becomes (S,): the sum of squares of each column. causal, of a map (T, T): elements above the
/// diagonal are zero and not read.
MapSums sum_map(MatrixView<const float> map, bool causal, std::vector<double>& column_squares,
                const Compute& compute = {});

}  // namespace attnscope
