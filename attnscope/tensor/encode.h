// Numbers as the elements of a file.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attnscope/tensor/dtype.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Whether encode() knows it: f64, f32, f16, bf16.
bool can_encode(DType dtype);

/// Whether its numbers, in whatever order, are stored in a dtype that is written: else they are
/// quantised.
bool is_plain(const TensorView& tensor);

/// Each value rounded once to the nearest one of `dtype`, ties to even; little-endian. Throws
/// std::invalid_argument for a dtype that can_encode() does not name.
std::vector<std::byte> encode(std::span<const double> values, DType dtype);

/// The elements of a tensor, row by row, as `dtype`: the bytes of the file where they are that
/// already. Of class `real`, or of `dtype` itself.
std::vector<std::byte> encoded_elements(const TensorView& tensor, DType dtype);

/// Whether both have the same shape and values.
bool same_elements(const TensorView& a, const TensorView& b);

}  // namespace attnscope
