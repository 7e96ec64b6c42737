// Weights whose files store the decoded tensor column by column.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Transposes one tile at a time, so that source and result stay in the L1 cache.
class TransposedSource : public ValueSource {
 public:
  static constexpr std::int64_t kTile = 64;

  void decode(std::int64_t first_row, std::int64_t first_col, MatrixView<float> out) const final {
    std::array<float, kTile * kTile> values;
    for (std::int64_t row = 0; row < out.rows;) {
      const std::int64_t together = rows_together_ - (first_row + row) % rows_together_;
      const std::int64_t rows = std::min({kTile, out.rows - row, together});
      for (std::int64_t col = 0; col < out.cols; col += kTile) {
        const std::int64_t cols = std::min(kTile, out.cols - col);
        decode_columns(first_col + col, first_row + row, {values.data(), cols, rows, rows, 1});
        for (std::int64_t tile_row = 0; tile_row < rows; ++tile_row) {
          float* line = &out(row + tile_row, col);
          for (std::int64_t tile_col = 0; tile_col < cols; ++tile_col) {
            line[tile_col] = values[static_cast<std::size_t>(tile_col * rows + tile_row)];
          }
        }
      }
      row += rows;
    }
  }

 protected:
  /// `rows_together`: the number of rows of each matrix in a stack. No tile contains rows of two
  /// matrices.
  explicit TransposedSource(std::int64_t rows_together) : rows_together_(rows_together) {}

  /// Decodes into `tile`, (columns, rows), contiguous, at most kTile in each dimension. Value
  /// (first_row + row, first_col + col) is stored in tile(col, row).
  virtual void decode_columns(std::int64_t first_col, std::int64_t first_row,
                              MatrixView<float> tile) const = 0;

 private:
  std::int64_t rows_together_;
};

}  // namespace attnscope
