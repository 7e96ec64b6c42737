// The element types of GGUF tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "attnscope/tensor/dtype.h"

namespace attnscope {

struct GgmlType {
  std::uint32_t id;  // as stored in the file
  std::string_view name;
  std::int64_t block_values;
  std::int64_t block_bytes;
  /// Decodes one block exactly like the `gguf` package. Null for plain types and for unsupported
  /// types.
  void (*decode)(const std::uint8_t* block, float* out) = nullptr;
  std::optional<DType> plain = {};  // the dtype of plain elements
};

/// Sorted by id, ascending.
std::span<const GgmlType> ggml_types();

/// Returns null for an id that no version of the format has.
const GgmlType* find_ggml_type(std::uint32_t id);

// ggml's quantized blocks to float32: each function decodes one block of its format. Source:
// ggml-org/llama.cpp, ggml/src/ggml-common.h and ggml-quants.c; gguf-py/gguf/quants.py.
// A block has one or two float16 scales, and for each value a code of 2 to 8 bits. Every product
// below is exact in float32, and at most one sum rounds. Therefore neither the order of operations
// nor fused multiply-adds change the result.

// 32 values.
void decode_q4_0(const std::uint8_t* block, float* out);
void decode_q4_1(const std::uint8_t* block, float* out);
void decode_q5_0(const std::uint8_t* block, float* out);
void decode_q5_1(const std::uint8_t* block, float* out);
void decode_q8_0(const std::uint8_t* block, float* out);
void decode_iq4_nl(const std::uint8_t* block, float* out);
void decode_mxfp4(const std::uint8_t* block, float* out);

// 256 values, in groups of 16 or 32 with their own scales.
void decode_q2_k(const std::uint8_t* block, float* out);
void decode_q3_k(const std::uint8_t* block, float* out);
void decode_q4_k(const std::uint8_t* block, float* out);
void decode_q5_k(const std::uint8_t* block, float* out);
void decode_q6_k(const std::uint8_t* block, float* out);
void decode_iq4_xs(const std::uint8_t* block, float* out);

}  // namespace attnscope
