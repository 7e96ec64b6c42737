// The last step of a library's decoding: rounds float32 values to the dtype of its results.
#pragma once

#include <span>

#include "attnscope/tensor/dtype.h"

namespace attnscope {

/// Rounds each value once to the nearest value of `dtype`, ties to even; f32 leaves values
/// unchanged. Throws std::invalid_argument for dtypes other than f32, f16 and bf16.
void round_values(DType dtype, std::span<float> values);

}  // namespace attnscope
