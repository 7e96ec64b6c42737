#include "attnscope/tensor/tensor_matrix.h"

#include <algorithm>
#include <vector>

#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

/// Rows of the matrix are columns of the tensor: reads its rows, which are contiguous, and
/// scatters a strip of them at a time so that the writes stay in cache.
template <class T>
void decode_transposed(const TensorMatrix& matrix, std::int64_t first_row, std::int64_t first_col,
                       MatrixView<T> out) {
  constexpr std::int64_t kStrip = 64;
  const std::int64_t block_rows = std::min(matrix.block_rows, matrix.rows);
  std::vector<T> line(static_cast<std::size_t>(kStrip));
  for (std::int64_t at = 0; at < out.rows;) {
    // A strip ends at the end of its block, where its columns jump.
    const std::int64_t row = first_row + at;
    const std::int64_t left_in_block = block_rows - row % block_rows;
    const std::int64_t count = std::min({kStrip, left_in_block, out.rows - at});
    for (std::int64_t col = 0; col < out.cols; ++col) {
      decode_elements(matrix.tensor, matrix.row_start(row) + (first_col + col) * matrix.col_stride,
                      matrix.row_stride, count, line.data());
      for (std::int64_t index = 0; index < count; ++index) {
        out(at + index, col) = line[static_cast<std::size_t>(index)];
      }
    }
    at += count;
  }
}

}  // namespace

TensorMatrix whole_matrix(const TensorView& tensor) {
  const std::int64_t rows = tensor.shape[0];
  const std::int64_t cols = tensor.shape[1];
  return {.tensor = tensor,
          .rows = rows,
          .cols = cols,
          .row_stride = cols,
          .block_rows = std::max<std::int64_t>(rows, 1)};
}

std::span<const std::byte> byte_range(const TensorMatrix& matrix) {
  if (matrix.rows == 0 || matrix.cols == 0) return {};
  const std::int64_t last =
      matrix.row_start(matrix.rows - 1) + (matrix.cols - 1) * matrix.col_stride;
  const auto element_bits = static_cast<std::int64_t>(dtype_info(matrix.tensor.dtype).bits);
  const auto begin = static_cast<std::size_t>(matrix.first * element_bits / 8);
  const auto end = static_cast<std::size_t>(((last + 1) * element_bits + 7) / 8);
  return matrix.tensor.bytes.subspan(begin, end - begin);
}

template <class T>
void decode_block(const TensorMatrix& matrix, std::int64_t first_row, std::int64_t first_col,
                  MatrixView<T> out) {
  // An empty tensor may claim any number of rows: there is nothing to visit them for.
  if (out.rows == 0 || out.cols == 0) return;
  if (matrix.row_stride == 1 && matrix.col_stride != 1) {
    return decode_transposed(matrix, first_row, first_col, out);
  }
  for (std::int64_t row = 0; row < out.rows; ++row) {
    decode_elements(matrix.tensor,
                    matrix.row_start(first_row + row) + first_col * matrix.col_stride,
                    matrix.col_stride, out.cols, out.data + row * out.row_stride);
  }
}

template <class T>
Matrix<T> decode(const TensorMatrix& matrix) {
  Matrix<T> out(matrix.rows, matrix.cols);
  decode_block(matrix, 0, 0, out.view());
  return out;
}

template void decode_block(const TensorMatrix&, std::int64_t, std::int64_t, MatrixView<float>);
template void decode_block(const TensorMatrix&, std::int64_t, std::int64_t, MatrixView<double>);
template Matrix<float> decode(const TensorMatrix&);
template Matrix<double> decode(const TensorMatrix&);

WeightMatrix decode_exact(const TensorMatrix& matrix) {
  if (matrix.tensor.dtype == DType::f64) return decode<double>(matrix);
  return decode<float>(matrix);
}

}  // namespace attnscope
