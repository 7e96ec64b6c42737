// Rotation of pairs of dimensions; see numerics/inference/rotary.h.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// cos, sin: (x.rows, pairs).
void rotate_halves(Kernels kernels, MatrixView<float> x, const float* cos, const float* sin,
                   std::int64_t pairs, bool backward);
void rotate_neighbours(Kernels kernels, MatrixView<float> x, const float* cos, const float* sin,
                       std::int64_t pairs, bool backward);

}  // namespace attnscope::kernels
