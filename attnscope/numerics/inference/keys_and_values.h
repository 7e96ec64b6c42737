// Keys and values of one head in memory, to which those of later tokens can be added.
#pragma once

#include <cstdint>
#include <optional>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Laid out as attend() reads them: packed where the CPU has kernels, else in rows.
class KeysAndValues {
 public:
  /// Room for those of so many tokens, d and d_v elements each. What was put before is lost; the
  /// memory is kept where it is enough. Throws std::bad_alloc.
  void reserve(std::int64_t tokens, std::int64_t depth, std::int64_t value_columns);

  /// What reserve() takes; nothing where that is more than can be counted.
  static std::optional<std::uint64_t> bytes(std::int64_t tokens, std::int64_t depth,
                                            std::int64_t value_columns);

  /// k (count, d) and v (count, d_v) become those of the tokens first … first + count − 1, for
  /// which there must be room; those before them must have been put, with the same kernels.
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
