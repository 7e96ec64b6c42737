#include "attnscope/checkpoint/quantized/transposed_source.h"

#include <algorithm>
#include <array>

namespace attnscope {

void TurnedSource::decode(std::int64_t first_row, std::int64_t first_col,
                          MatrixView<float> out) const {
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

}  // namespace attnscope
