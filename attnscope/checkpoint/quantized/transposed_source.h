// Weights whose files store the decoded tensor column by column.
#pragma once

#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Transposes a tile at a time, so that both sides stay in the first-level cache.
class TurnedSource : public ValueSource {
 public:
  static constexpr std::int64_t kTile = 64;

  void decode(std::int64_t first_row, std::int64_t first_col, MatrixView<float> out) const final;

 protected:
  /// `rows_together`: rows of each matrix in a stack. No tile has rows of two matrices.
  explicit TurnedSource(std::int64_t rows_together) : rows_together_(rows_together) {}

  /// Decodes into `tile`, (columns, rows), contiguous, at most kTile each way: value (first_row +
  /// row, first_col + col) goes to tile(col, row).
  virtual void decode_columns(std::int64_t first_col, std::int64_t first_row,
                              MatrixView<float> tile) const = 0;

 private:
  std::int64_t rows_together_;
};

}  // namespace attnscope
