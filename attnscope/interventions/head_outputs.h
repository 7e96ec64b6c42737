// What each head of a layer adds to the residual stream.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// ‖what a head adds at a row‖ in Euclidean norm, (H, rows), without the bias of the output
/// projection. `heads` (rows, H d_v): what the projection reads, as on_heads() and on_cross_heads()
/// show it. If a norm follows the projection (Gemma 2), its scale of each row is that of the whole
/// branch. `across`: of the layer's cross-attention.
Matrix<double> head_output_norms(const ForwardPass& pass, std::int64_t layer,
                                 MatrixView<const float> heads, bool across,
                                 const Compute& compute);

/// The Euclidean norm of each row.
std::vector<double> row_norms(MatrixView<const float> rows);

}  // namespace attnscope
