// Sums over the weights of an attention map, in float64.
#pragma once

#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct MapSums {
  double entropy = 0;   // Σ −a ln a, where 0 ln 0 = 0; each logarithm within 1e-11 of itself
  double distance = 0;  // Σ a |row − column|
};

/// Of a map (T, T), whose weights are finite, none negative and lie together in each row. Squares
/// of each column are summed into column_squares, which becomes (T,). causal: what is above the
/// diagonal is zero, and is not read.
MapSums sum_map(MatrixView<const float> map, bool causal, std::vector<double>& column_squares,
                const Compute& compute = {});

}  // namespace attnscope
