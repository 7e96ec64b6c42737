// Values that have no address of their own in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/core/matrix_view.h"

namespace attnscope {

/// The values of a tensor whose elements do not simply lie in a file one by one: quantised in
/// blocks, scaled, packed, or in another order. A tensor is seen as (rows, cols): cols is its last
/// axis, rows are all others; a tensor of one axis is one row. The bytes that it reads must stay.
class ValueSource {
 public:
  virtual ~ValueSource() = default;

  /// The block of out's shape that starts at (first_row, first_col), in exactly the values that the
  /// format's reference library gives; out's rows lie together. Threads may call it at once.
  virtual void decode(std::int64_t first_row, std::int64_t first_col,
                      MatrixView<float> out) const = 0;

  /// The bytes of files that decode() of such a block reads: codes, scales and whatever else.
  virtual std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                        std::int64_t first_col,
                                                        std::int64_t cols) const = 0;
};

}  // namespace attnscope
