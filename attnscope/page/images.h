// Maps and matrices as bytes, one for each weight or block of weights.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/core/matrix_view.h"

namespace attnscope {

/// Every weight of a map, row by row; of a causal map only the triangle.
std::string map_bytes(MatrixView<const float> map, bool causal);

/// rows × cols cells, each with the largest weight in its area.
std::string thumbnail_bytes(MatrixView<const float> map, std::int64_t rows, std::int64_t cols);

/// Cells from −limit to limit, row by row.
struct Image {
  std::int64_t rows = 0, cols = 0;
  double limit = 0;
  std::string bytes;
};

/// Means of equal blocks; the image has at most `side` rows and columns.
Image block_means(const WeightMatrix& matrix, std::int64_t side);

/// The diagonal, which is always 1, is left at 0.
Image cosines_image(MatrixView<const double> cosines);

}  // namespace attnscope
