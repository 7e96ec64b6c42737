// Memory that a forward pass uses again.
#pragma once

#include <cstdint>

#include "attnscope/core/matrix_view.h"

namespace attnscope {

/// The matrix with that shape; what it held is lost. Matrices of one batch are of the same shapes
/// in every layer: most calls allocate nothing.
inline MatrixView<float> sized(Matrix<float>& matrix, std::int64_t rows, std::int64_t cols) {
  if (matrix.rows() != rows || matrix.cols() != cols) matrix = Matrix<float>(rows, cols);
  return matrix.view();
}

/// The same for shapes that differ from call to call: its first rows.
inline MatrixView<float> sized_at_least(Matrix<float>& matrix, std::int64_t rows,
                                        std::int64_t cols) {
  if (matrix.rows() < rows || matrix.cols() != cols) matrix = Matrix<float>(rows, cols);
  return matrix.view().row_block(0, rows);
}

}  // namespace attnscope
