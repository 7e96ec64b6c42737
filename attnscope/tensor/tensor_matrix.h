// A matrix in canonical orientation, described by the positions of its elements in a tensor of a
// file. It is unrelated to the rows that a store contains.
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
/// of `tensor`, counted from the first one in its bytes. Elements of a source are counted row by
/// row. Blocks describe rows that are interleaved with rows of other matrices, as in GPT-NeoX's
/// query_key_value. A plain matrix is one block. The creator must have checked the strides.
struct TensorMatrix {
  TensorView tensor;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t first = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;
  std::int64_t block_rows = 0;
  std::int64_t block_stride = 0;

  /// Returns the index in `tensor` of element (row, 0).
  std::int64_t row_start(std::int64_t row) const {
    return first + row / block_rows * block_stride + row % block_rows * row_stride;
  }
};

/// Returns a whole tensor with two axes, with its rows as in the file.
TensorMatrix whole_matrix(const TensorView& tensor);

/// Returns the byte ranges that contain the matrix. For a plain tensor: its bytes from the first
/// element of the matrix to the last. Bytes in between may belong to other matrices.
std::vector<std::span<const std::byte>> byte_ranges(const TensorMatrix& matrix);

/// Returns a dense, row-major copy. The dtype must be of class `real`.
template <class T>
Matrix<T> decode(const TensorMatrix& matrix);

/// Decodes a block with the shape of `out` that starts at (first_row, first_col). `out` has
/// contiguous rows.
template <class T>
void decode_block(const TensorMatrix& stored, std::int64_t first_row, std::int64_t first_col,
                  MatrixView<T> out);

/// float64 for a float64 tensor, otherwise float32. Both are exact.
WeightMatrix decode_exact(const TensorMatrix& matrix);

}  // namespace attnscope
