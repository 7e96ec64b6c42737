// Encodings of data in a page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attnscope/base/matrix_view.h"

namespace attnscope {

/// Compresses the bytes to a gzip file (RFC 1952). Throws std::bad_alloc.
std::string gzip(std::string_view bytes);

/// Splits float32 numbers into four planes: all lowest bytes, then all next ones, …. Adjacent
/// numbers of a spectrum share their high bytes, so planes compress to little more than half.
std::string byte_planes(std::span<const float> numbers);

/// Encodes an attention weight in one byte: 0 is exactly 0; 1 to 255 are 2^-16 to 1 in logarithmic
/// steps. The error of a weight above 2^-16 is at most 2.2 %.
std::uint8_t weight_byte(float weight);

/// Encodes a signed number in one byte, from 1 at −limit to 255 at limit; 128 is 0.
std::uint8_t signed_byte(double number, double limit);

// Encodes maps and matrices as bytes, one per weight or block of weights.

/// Encodes every weight of a map, row by row; for a causal map only the lower triangle.
std::string map_bytes(MatrixView<const float> map, bool causal);

/// Reduces a map to rows × cols cells, each with the largest weight in its area.
std::string thumbnail_bytes(MatrixView<const float> map, std::int64_t rows, std::int64_t cols);

/// Cells with values from −limit to limit, row by row.
struct Image {
  std::int64_t rows = 0, cols = 0;
  double limit = 0;
  std::string bytes;
};

/// Reduces a matrix to the means of equal blocks, with at most `side` rows and columns.
Image block_means(const WeightMatrix& matrix, std::int64_t side);

/// Converts cosines to an image; the diagonal, which is always 1, is set to 0.
Image cosines_image(MatrixView<const double> cosines);

}  // namespace attnscope
