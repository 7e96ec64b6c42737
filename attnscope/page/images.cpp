#include "attnscope/page/images.h"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "attnscope/page/encoding.h"

namespace attnscope {
namespace {

/// The blocks that an axis of `size` is cut into: where block i of `count` begins.
std::int64_t block_begin(std::int64_t size, std::int64_t count, std::int64_t i) {
  return size * i / count;
}

/// Gives every element under a cell to `look`.
template <class T, class Look>
void for_each_under(MatrixView<const T> view, std::int64_t rows, std::int64_t cols,
                    std::int64_t row, std::int64_t col, const Look& look) {
  for (std::int64_t i = block_begin(view.rows, rows, row);
       i < block_begin(view.rows, rows, row + 1); ++i) {
    for (std::int64_t j = block_begin(view.cols, cols, col);
         j < block_begin(view.cols, cols, col + 1); ++j) {
      look(view(i, j));
    }
  }
}

Image image_of(std::int64_t rows, std::int64_t cols, const std::vector<double>& cells) {
  Image image{.rows = rows, .cols = cols};
  for (const double cell : cells) {
    if (std::isfinite(cell)) image.limit = std::max(image.limit, std::abs(cell));
  }
  for (const double cell : cells) {
    image.bytes += static_cast<char>(signed_byte(cell, image.limit));
  }
  return image;
}

template <class T>
Image means_of(MatrixView<const T> view, std::int64_t side) {
  const std::int64_t rows = std::min(side, view.rows), cols = std::min(side, view.cols);
  std::vector<double> means;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      double sum = 0, count = 0;
      for_each_under(view, rows, cols, row, col, [&](T weight) {
        sum += static_cast<double>(weight);
        ++count;
      });
      means.push_back(sum / count);
    }
  }
  return image_of(rows, cols, means);
}

}  // namespace

std::string map_bytes(MatrixView<const float> map, bool causal) {
  std::string bytes;
  for (std::int64_t query = 0; query < map.rows; ++query) {
    const std::int64_t keys = causal ? query + 1 : map.cols;
    for (std::int64_t key = 0; key < keys; ++key) {
      bytes += static_cast<char>(weight_byte(map(query, key)));
    }
  }
  return bytes;
}

std::string thumbnail_bytes(MatrixView<const float> map, std::int64_t rows, std::int64_t cols) {
  std::string bytes;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      float largest = 0;
      for_each_under(map, rows, cols, row, col,
                     [&](float weight) { largest = std::max(largest, weight); });
      bytes += static_cast<char>(weight_byte(largest));
    }
  }
  return bytes;
}

Image block_means(const WeightMatrix& matrix, std::int64_t side) {
  return std::visit([&](const auto& weights) { return means_of(weights.view(), side); }, matrix);
}

Image cosines_image(MatrixView<const double> cosines) {
  std::vector<double> cells;
  for (std::int64_t row = 0; row < cosines.rows; ++row) {
    for (std::int64_t col = 0; col < cosines.cols; ++col) {
      const double cosine = row == col ? 0 : cosines(row, col);
      cells.push_back(std::isfinite(cosine) ? cosine : 0);
    }
  }
  return image_of(cosines.rows, cosines.cols, cells);
}

}  // namespace attnscope
