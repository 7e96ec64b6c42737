// Converts stored elements to float32 or float64, exactly.
#pragma once

#include <cstdint>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Decodes elements `first, first + stride, …` (`count` of them) of a tensor into `out`. The dtype
/// must be of class `real`. Elements are counted from the first one in the tensor's bytes; elements
/// of a source are counted row by row. Every value is exact in T, except stored float64 with T =
/// float. Throws std::invalid_argument for dtypes of other classes.
template <class T>
void decode_elements(const TensorView& tensor, std::int64_t first, std::int64_t stride,
                     std::int64_t count, T* out);

}  // namespace attnscope
