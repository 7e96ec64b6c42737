// Norms of rows; see numerics/inference/norms.h. Rows are contiguous.
#pragma once

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// gain and bias: null, or x.cols elements.
void layer_norm_rows(Kernels kernels, MatrixView<const float> x, const float* gain,
                     const float* bias, double epsilon, MatrixView<float> out);
void rms_norm_rows(Kernels kernels, MatrixView<const float> x, const float* gain, float gain_offset,
                   double epsilon, MatrixView<float> out);

}  // namespace attnscope::kernels
