// Decodes the weights of a linear layer from a file.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

/// Decodes rows [first, first + out.rows) and columns from `first_col` on of the stacked matrices
/// `parts`, as float32, into `out`, which has contiguous rows.
void decode_stacked(std::span<const TensorMatrix> parts, std::int64_t first, std::int64_t first_col,
                    MatrixView<float> out);

/// The same into a panel of kernels/linear_panels.h: inputs [first, first + count) of the outputs
/// of panel `index`, to the place of the inputs from `place` on in a panel of `depth` inputs.
/// Outputs beyond the last repeat others: products read them and discard their sums.
struct PanelInputs {
  std::int64_t index = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};
void decode_panel(std::span<const TensorMatrix> parts, const PanelInputs& inputs,
                  std::int64_t place, std::int64_t depth, const Compute& compute, float* panel);

}  // namespace attnscope
