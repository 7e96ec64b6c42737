// Weights whose files keep the columns of the decoded tensor together.
#pragma once

#include "attnscope/tensor/value_source.h"

namespace attnscope {

/// Turns columns into rows, a tile at a time, so that both sides stay in the first cache.
class TurnedSource : public ValueSource {
 public:
  static constexpr std::int64_t kTile = 64;

  void decode(std::int64_t first_row, std::int64_t first_col, MatrixView<float> out) const final;

 protected:
  /// Rows come in equally long stretches (the matrices of a stack): no tile has rows of two.
  explicit TurnedSource(std::int64_t rows_together) : rows_together_(rows_together) {}

  /// `tile` is (columns, rows), transposed and without gaps, at most kTile each way: values
  /// (first_row + row, first_col + col) go to tile(col, row).
  virtual void decode_columns(std::int64_t first_col, std::int64_t first_row,
                              MatrixView<float> tile) const = 0;

 private:
  std::int64_t rows_together_;
};

}  // namespace attnscope
