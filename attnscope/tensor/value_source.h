// Values that are not stored one by one in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/core/matrix_view.h"

namespace attnscope {

/// The values of a tensor that is quantised in blocks, scaled, packed, or stored in another order.
/// The tensor counts as (rows, cols): cols is its last axis, rows are all others; a tensor of one
/// axis is one row. The bytes that it reads must outlive it.
class ValueSource {
 public:
  virtual ~ValueSource() = default;

  /// Decodes the block of out's shape that starts at (first_row, first_col) to exactly the values
  /// of the format's reference library. `out` has contiguous rows. Several threads may call it at
  /// the same time.
  virtual void decode(std::int64_t first_row, std::int64_t first_col,
                      MatrixView<float> out) const = 0;

  /// The bytes of files that decode() of such a block reads: codes, scales and all others.
  virtual std::vector<std::span<const std::byte>> reads(std::int64_t first_row, std::int64_t rows,
                                                        std::int64_t first_col,
                                                        std::int64_t cols) const = 0;
};

}  // namespace attnscope
