// A matrix in canonical orientation, described by the place of its elements in a tensor of a file.
// Unrelated to the rows that a store keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Element (row, col) is element
///   first + (row / block_rows) * block_stride + (row % block_rows) * row_stride + col * col_stride
/// of `tensor`, counted from the first in its bytes; elements of a source are counted row by row.
/// Blocks express rows that are interleaved with other matrices' rows, as in GPT-NeoX's
/// query_key_value; a plain matrix is one block. Whoever makes one has checked the strides.
struct TensorMatrix {
  TensorView tensor;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t first = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;
  std::int64_t block_rows = 0;
  std::int64_t block_stride = 0;

  /// The index in `tensor` of element (row, 0).
  std::int64_t row_start(std::int64_t row) const {
    return first + row / block_rows * block_stride + row % block_rows * row_stride;
  }
};

/// A whole tensor with two axes, its rows as in the file.
TensorMatrix whole_matrix(const TensorView& tensor);

/// The stretches of files that hold the matrix: for a plain tensor, its bytes from the matrix's
/// first element to its last. Some bytes between may belong to other matrices.
std::vector<std::span<const std::byte>> byte_ranges(const TensorMatrix& matrix);

/// The dense, row-major copy. The dtype must be of class `real`.
template <class T>
Matrix<T> decode(const TensorMatrix& matrix);

/// Decodes the block of out's shape that starts at (first_row, first_col) into `out`, which has
/// contiguous rows.
template <class T>
void decode_block(const TensorMatrix& stored, std::int64_t first_row, std::int64_t first_col,
                  MatrixView<T> out);

/// float64 for a float64 tensor, else float32; exact in both cases.
WeightMatrix decode_exact(const TensorMatrix& matrix);

}  // namespace attnscope
