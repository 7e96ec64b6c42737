// Maps and matrices as bytes: a weight each, or a block of weights each.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/core/matrix_view.h"

namespace attnscope {

/// Every weight of a map, row by row; of a causal one those of its triangle.
std::string map_bytes(MatrixView<const float> map, bool causal);

/// side × side cells, each the largest weight under it.
std::string thumbnail_bytes(MatrixView<const float> map, std::int64_t side);

/// Cells from −limit to limit, row by row.
struct Image {
  std::int64_t rows = 0, cols = 0;
  double limit = 0;
  std::string bytes;
};

/// Means of equal blocks, at most `side` rows and columns of them.
Image block_means(const WeightMatrix& matrix, std::int64_t side);

/// Their diagonal is 1 whatever the weights are, and left at 0.
Image cosines_image(MatrixView<const double> cosines);

}  // namespace attnscope
