// Memory that a forward pass uses again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/inference/linear.h"

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

/// Rows from one matrix to another of that shape; columns are contiguous.
inline void copy_into(MatrixView<float> out, MatrixView<const float> from) {
  for (std::int64_t row = 0; row < from.rows; ++row) {
    std::copy_n(&from(row, 0), from.cols, &out(row, 0));
  }
}

inline Matrix<float> copied(MatrixView<const float> from) {
  Matrix<float> out(from.rows, from.cols);
  copy_into(out.view(), from);
  return out;
}

// Products of matrices that a run itself has made.

/// out = x · rowsᵀ, whose shape it takes.
inline void multiply_rows(MatrixView<const float> x, MatrixView<const float> rows,
                          Matrix<float>& out, const Compute& compute) {
  if (out.rows() != x.rows || out.cols() != rows.rows) out = Matrix<float>(x.rows, rows.rows);
  apply_linear(x, LinearWeights(rows, /*packed=*/false, compute), {}, out.view(), compute);
}

}  // namespace attnscope
