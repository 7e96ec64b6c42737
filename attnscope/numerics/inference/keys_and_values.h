// Keys and values of one head. Those of later tokens can be added.
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Laid out for attend(): packed if the CPU has kernels, else in rows.
class KeysAndValues {
 public:
  /// Makes room for `tokens` tokens with d = `depth` and d_v = `value_columns` elements each.
  /// Discards the contents; reuses the memory if it is large enough. Throws std::bad_alloc.
  void reserve(std::int64_t tokens, std::int64_t depth, std::int64_t value_columns);

  /// Bytes that reserve() takes; nothing if the number overflows.
  static std::optional<std::uint64_t> bytes(std::int64_t tokens, std::int64_t depth,
                                            std::int64_t value_columns);

  /// Stores k (count, d) and v (count, d_v) as those of tokens first … first + count − 1. There
  /// must be room, and all earlier tokens must have been put with the same kernels.
  void put(std::int64_t first, MatrixView<const float> k, MatrixView<const float> v,
           Kernels kernels);

  std::int64_t room() const { return room_; }  // tokens
  const float* keys() const { return keys_; }
  const float* values() const { return values_; }

 private:
  std::int64_t room_ = 0;
  AlignedBuffer<float> key_memory_, value_memory_;
  float* keys_ = nullptr;  // in these
  float* values_ = nullptr;
};

}  // namespace attnscope
