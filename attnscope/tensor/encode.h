// Encodes numbers as elements of a file.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/tensor/dtype.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Whether encode() supports the dtype: f64, f32, f16, bf16.
bool can_encode(DType dtype);

/// Whether the tensor's values are stored in a dtype that can be encoded, in any order. If not,
/// they are quantized.
bool is_plain(const TensorView& tensor);

/// The end of the storage format of tensors that an adapter changes, after that of the base.
inline constexpr std::string_view kAdapted = "+adapter";

/// Returns the dtype of a plain tensor, also if an adapter changes it. Nothing: it is quantized.
std::optional<DType> plain_dtype(const TensorView& tensor);

/// Rounds each value once to the nearest one of `dtype`, ties to even; little-endian. Throws
/// std::invalid_argument if can_encode() is false for the dtype.
std::vector<std::byte> encode(std::span<const double> values, DType dtype);

/// Returns the elements of a tensor, row by row, as `dtype`. If they are stored in this form
/// already, returns the bytes of the file. The tensor's dtype must be of class `real`, or `dtype`
/// itself.
std::vector<std::byte> encoded_elements(const TensorView& tensor, DType dtype);

/// Whether both have the same shape and values.
bool same_elements(const TensorView& a, const TensorView& b);

}  // namespace attnscope
