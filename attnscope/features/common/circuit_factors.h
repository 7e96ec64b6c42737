// The circuits QK and OV as products of two thin factors, M = leftᵀ · right.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/role.h"

namespace attnscope {

/// The canonical matrices that a circuit multiplies: W_Q and W_K, or W_O and W_V.
struct CircuitWeights {
  Role circuit = Role::qk;
  MatrixView<const double> left;   // W_Q (H d, D), or W_O (D, H d_v)
  MatrixView<const double> right;  // W_K (G d, D), or W_V (G d_v, D)
  HeadShape heads;
};

/// Both (r, D); the circuit is leftᵀ · right, (D, D), of rank at most min(r, D).
struct CircuitFactors {
  MatrixView<const double> left;
  MatrixView<const double> right;
};

/// QK_h = W_Q,hᵀ W_K,g or OV_h = W_O,h W_V,g with r = d or d_v; views into `weights`.
CircuitFactors head_factors(const CircuitWeights& weights, std::int64_t query_head);

/// W̄, (G d, D) or (G d_v, D): the left factor of the sum over heads, in which query heads that
/// read one key/value head are added. Its right factor is all of `weights.right`.
Matrix<double> summed_left_factor(const CircuitWeights& weights);

}  // namespace attnscope
