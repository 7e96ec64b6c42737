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

// ggml's quantised blocks to float32: each function decodes one block of its format.
// Source: ggml-org/llama.cpp, ggml/src/ggml-common.h and ggml-quants.c; gguf-py/gguf/quants.py.
//
// A block has one or two float16 scales and, for each value, a code of 2 to 8 bits. Every product
// below is exact in float32, and at most one sum rounds. So neither the order of operations nor
// fused multiply-adds change a bit of the result.

// 32 values.
void decode_q4_0(const std::uint8_t* block, float* out);
void decode_q4_1(const std::uint8_t* block, float* out);
void decode_q5_0(const std::uint8_t* block, float* out);
void decode_q5_1(const std::uint8_t* block, float* out);
void decode_q8_0(const std::uint8_t* block, float* out);
void decode_iq4_nl(const std::uint8_t* block, float* out);
void decode_mxfp4(const std::uint8_t* block, float* out);

// 256 values, in stretches of 16 or 32 with scales of their own.
void decode_q2_k(const std::uint8_t* block, float* out);
void decode_q3_k(const std::uint8_t* block, float* out);
void decode_q4_k(const std::uint8_t* block, float* out);
void decode_q5_k(const std::uint8_t* block, float* out);
void decode_q6_k(const std::uint8_t* block, float* out);
void decode_iq4_xs(const std::uint8_t* block, float* out);

}  // namespace attnscope
