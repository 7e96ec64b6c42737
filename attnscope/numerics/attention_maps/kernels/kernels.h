// Sums from one pass over an attention map.
#pragma once

#include <cstddef>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/attention_maps/map_sums.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// column_squares has room for a multiple of kMapColumnStep elements; those beyond the map are
/// overwritten.
inline constexpr std::size_t kMapColumnStep = 8;
MapSums map_sums(Kernels kernels, MatrixView<const float> map, bool causal, double* column_squares);

}  // namespace attnscope::kernels
