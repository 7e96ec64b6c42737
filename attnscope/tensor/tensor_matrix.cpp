#include "attnscope/tensor/tensor_matrix.h"

#include <algorithm>
#include <vector>

#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

/// Rows of the matrix are columns of the tensor. Reads the contiguous rows of the tensor and
/// scatters a strip of them at a time, so that the writes stay in cache.
template <class T>
void decode_transposed(const TensorMatrix& matrix, std::int64_t first_row, std::int64_t first_col,
                       MatrixView<T> out) {
  constexpr std::int64_t kStrip = 64;
  const std::int64_t block_rows = std::min(matrix.block_rows, matrix.rows);
  std::vector<T> line(static_cast<std::size_t>(kStrip));
  for (std::int64_t at = 0; at < out.rows;) {
    // A strip ends at the end of its block, because the column offset changes there.
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

/// The rows and columns of a source that contain the matrix.
struct SourceBlock {
  std::int64_t first_row = 0, rows = 0, first_col = 0, cols = 0;
};

SourceBlock block_of_source(const TensorMatrix& matrix) {
  const std::int64_t width = matrix.tensor.cols();
  const std::int64_t last =
      matrix.row_start(matrix.rows - 1) + (matrix.cols - 1) * matrix.col_stride;
  const std::int64_t first_row = matrix.first / width;
  return {first_row, last / width + 1 - first_row, 0, width};
}

/// Returns how many rows, starting at `row`, are consecutive rows of the source.
std::int64_t rows_below(const TensorMatrix& matrix, std::int64_t row, std::int64_t most) {
  const std::int64_t width = matrix.tensor.cols();
  std::int64_t count = 1;
  while (count < most && matrix.row_start(row + count) == matrix.row_start(row) + count * width) {
    ++count;
  }
  return count;
}

/// Sources decode whole blocks, so a single element costs as much as a block.
template <class T>
void decode_source_block(const TensorMatrix& matrix, std::int64_t first_row, std::int64_t first_col,
                         MatrixView<T> out) {
  const std::int64_t width = matrix.tensor.cols();
  const ValueSource& source = *matrix.tensor.source;
  constexpr std::int64_t kStrip = 256;  // a multiple of the block size of every format
  for (std::int64_t row = 0; row < out.rows;) {
    const std::int64_t start = matrix.row_start(first_row + row) + first_col * matrix.col_stride;
    if (matrix.col_stride == 1 && start % width + out.cols <= width) {
      const std::int64_t count = rows_below(matrix, first_row + row, out.rows - row);
      source.decode_as(start / width, start % width, out.row_block(row, count));
      row += count;
    } else if (width > 1 && matrix.row_stride > 0 && matrix.row_stride < kStrip &&
               matrix.col_stride == width) {
      // Rows of the matrix are columns of the source, as long as they stay in one block. Columns of
      // another matrix may lie between them.
      const std::int64_t block = std::min(matrix.block_rows, matrix.rows);
      const std::int64_t step = matrix.row_stride;
      const std::int64_t left_in_source = (width - 1 - start % width) / step + 1;
      const std::int64_t count = std::min(
          {kStrip / step, block - (first_row + row) % block, out.rows - row, left_in_source});
      Matrix<T> columns(out.cols, (count - 1) * step + 1);
      source.decode_as(start / width, start % width, columns.view());
      for (std::int64_t at = 0; at < count; ++at) {
        for (std::int64_t col = 0; col < out.cols; ++col) {
          out(row + at, col) = columns(col, at * step);
        }
      }
      row += count;
    } else {
      decode_elements(matrix.tensor, start, matrix.col_stride, out.cols, &out(row, 0));
      ++row;
    }
  }
}

}  // namespace

TensorMatrix whole_matrix(const TensorView& tensor) {
  const std::int64_t rows = tensor.shape[0];
  return {.tensor = tensor,
          .rows = rows,
          .cols = tensor.shape[1],
          .row_stride = tensor.stride(0),
          .col_stride = tensor.stride(1),
          .block_rows = std::max<std::int64_t>(rows, 1)};
}

std::vector<std::span<const std::byte>> byte_ranges(const TensorMatrix& matrix) {
  if (matrix.rows == 0 || matrix.cols == 0) return {};
  if (matrix.tensor.source != nullptr) {
    const SourceBlock block = block_of_source(matrix);
    return matrix.tensor.source->reads(block.first_row, block.rows, block.first_col, block.cols);
  }
  const std::int64_t last =
      matrix.row_start(matrix.rows - 1) + (matrix.cols - 1) * matrix.col_stride;
  const auto element_bits = static_cast<std::int64_t>(dtype_info(matrix.tensor.dtype).bits);
  const auto begin = static_cast<std::size_t>(matrix.first * element_bits / 8);
  const auto end = static_cast<std::size_t>(((last + 1) * element_bits + 7) / 8);
  return {matrix.tensor.bytes.subspan(begin, end - begin)};
}

template <class T>
void decode_block(const TensorMatrix& matrix, std::int64_t first_row, std::int64_t first_col,
                  MatrixView<T> out) {
  // An empty tensor can declare any number of rows, but has no elements to visit.
  if (out.rows == 0 || out.cols == 0) return;
  if (matrix.tensor.source != nullptr) {
    return decode_source_block(matrix, first_row, first_col, out);
  }
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
