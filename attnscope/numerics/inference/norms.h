// LayerNorm and RMSNorm in float32, with sums in float64. With sums in float32, E[x²] − mean² would
// be off by 6e-4 if the mean is 100 standard deviations.
#pragma once

#include <span>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Computes each row of out (rows, n) = (x − mean) / sqrt(variance + epsilon) · gain + bias, over
/// the row's n contiguous elements. `gain` and `bias` have n elements, or none (1 and 0). `out` may
/// be x itself.
void layer_norm(MatrixView<const float> x, std::span<const float> gain, std::span<const float> bias,
                double epsilon, MatrixView<float> out, const Compute& compute);

/// Computes each row of out (rows, n) = x / sqrt(mean(x²) + epsilon) · (gain_offset + gain). An
/// offset of 1 is for Gemma's gains. `gain` has n elements, or none (factor 1 for any offset).
/// `out` may be x itself.
void rms_norm(MatrixView<const float> x, std::span<const float> gain, float gain_offset,
              double epsilon, MatrixView<float> out, const Compute& compute);

}  // namespace attnscope
