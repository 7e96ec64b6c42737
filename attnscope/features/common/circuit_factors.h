// The QK and OV circuits as products of two thin factors, M = leftᵀ · right.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/role.h"

namespace attnscope {

/// The canonical matrices that form a circuit: W_Q and W_K, or W_O and W_V.
struct CircuitWeights {
  Role circuit = Role::qk;
  MatrixView<const double> left;   // W_Q (H d, D), or W_O (D, H d_v)
  MatrixView<const double> right;  // W_K (G d, D), or W_V (G d_v, D)
  HeadShape heads;
};

/// Both (r, D). The circuit is leftᵀ · right, (D, D), with rank at most min(r, D).
struct CircuitFactors {
  MatrixView<const double> left;
  MatrixView<const double> right;
};

/// Returns the factors of QK_h = W_Q,hᵀ W_K,g or OV_h = W_O,h W_V,g, with r = d or d_v, as views of
/// `weights`.
CircuitFactors head_factors(const CircuitWeights& weights, std::int64_t query_head);

/// Returns W̄, (G d, D) or (G d_v, D): the left factor of the sum over heads. It adds up the query
/// heads that share a key/value head. The right factor is all of `weights.right`.
Matrix<double> summed_left_factor(const CircuitWeights& weights);

}  // namespace attnscope
