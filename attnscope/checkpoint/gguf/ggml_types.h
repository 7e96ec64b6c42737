// The element types of GGUF tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "attnscope/tensor/dtype.h"

namespace attnscope {

struct GgmlType {
  std::uint32_t id;  // in the file
  std::string_view name;
  std::int64_t block_values;
  std::int64_t block_bytes;
  /// Decodes one block exactly as the `gguf` package does; null for plain types and for types that
  /// are not decoded.
  void (*decode)(const std::uint8_t* block, float* out) = nullptr;
  std::optional<DType> plain = {};  // the dtype of plain elements
};

/// By ids, ascending.
std::span<const GgmlType> ggml_types();

/// Null for an id that no version of the format has.
const GgmlType* find_ggml_type(std::uint32_t id);

}  // namespace attnscope
