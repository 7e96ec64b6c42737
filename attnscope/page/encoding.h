// Encodings of data in a page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attnscope/base/matrix_view.h"

namespace attnscope {

/// A gzip file of the bytes (RFC 1952). Throws std::bad_alloc.
std::string gzip(std::string_view bytes);

/// float32 numbers as four planes: all lowest bytes, then all next ones, …. Neighbours in a
/// spectrum have equal high bytes, so planes compress to little more than half.
std::string byte_planes(std::span<const float> numbers);

/// An attention weight in one byte: 0 is exactly 0, and 1 to 255 are 2^-16 to 1 in equal steps of
/// the logarithm, so that a weight above 2^-16 is within 2.2 %.
std::uint8_t weight_byte(float weight);

/// A signed number in one byte, from 1 at −limit to 255 at limit; 128 is 0.
std::uint8_t signed_byte(double number, double limit);

// Maps and matrices as bytes, one for each weight or block of weights.

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
