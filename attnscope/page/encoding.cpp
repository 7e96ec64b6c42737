#include "attnscope/page/encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <variant>
#include <vector>

#include <zlib.h>

namespace attnscope {

std::string gzip(std::string_view bytes) {
  constexpr int kGzipWindow = 15 + 16, kMemoryLevel = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  // zlib counts in 32 bits, so the input is passed in parts.
  constexpr std::size_t kPart = std::size_t{1} << 28;
  std::string out;
  std::string room(std::size_t{1} << 16, '\0');
  std::size_t at = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::size_t count = std::min(kPart, bytes.size() - at);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + at));
      stream.avail_in = static_cast<uInt>(count);
      at += count;
    }
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    status = deflate(&stream, at == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    out.append(room.data(), room.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

std::string byte_planes(std::span<const float> numbers) {
  std::string out(4 * numbers.size(), '\0');
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const auto bits = std::bit_cast<std::uint32_t>(numbers[at]);
    for (std::size_t plane = 0; plane < 4; ++plane) {
      out[plane * numbers.size() + at] = static_cast<char>(bits >> (8 * plane) & 0xFF);
    }
  }
  return out;
}

std::uint8_t weight_byte(float weight) {
  if (!(weight > 0)) return 0;
  constexpr double kOctaves = 16, kSteps = 254;
  const double step = std::round(kSteps * (std::log2(weight) + kOctaves) / kOctaves);
  return static_cast<std::uint8_t>(1 + std::clamp(step, 0.0, kSteps));
}

std::uint8_t signed_byte(double number, double limit) {
  if (!(limit > 0) || !std::isfinite(number)) return 128;
  return static_cast<std::uint8_t>(128 + std::lround(127 * std::clamp(number / limit, -1.0, 1.0)));
}

namespace {

/// Start of block i when an axis of `size` is split into `count` blocks.
std::int64_t block_begin(std::int64_t size, std::int64_t count, std::int64_t i) {
  return size * i / count;
}

/// Calls `visit` for every element of a cell.
template <class T, class Visit>
void for_each_under(MatrixView<const T> view, std::int64_t rows, std::int64_t cols,
                    std::int64_t row, std::int64_t col, const Visit& visit) {
  for (std::int64_t i = block_begin(view.rows, rows, row);
       i < block_begin(view.rows, rows, row + 1); ++i) {
    for (std::int64_t j = block_begin(view.cols, cols, col);
         j < block_begin(view.cols, cols, col + 1); ++j) {
      visit(view(i, j));
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
