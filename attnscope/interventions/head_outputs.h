// Head outputs: the contribution of each head of a layer to the residual stream.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Returns the Euclidean norm of each head's output at each row, (H, rows), without the bias of the
/// output projection. `heads` (rows, H d_v) is the input of the projection, as passed to on_heads()
/// and on_cross_heads(). If a norm follows the projection (Gemma 2), each row is scaled as in the
/// whole branch. `across`: heads of the layer's cross-attention.
Matrix<double> head_output_norms(const ForwardPass& pass, std::int64_t layer,
                                 MatrixView<const float> heads, bool across,
                                 const Compute& compute);

/// Returns the Euclidean norm of each row.
std::vector<double> row_norms(MatrixView<const float> rows);

}  // namespace attnscope
