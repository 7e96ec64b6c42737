// Reusable memory of a forward pass.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/inference/linear.h"

namespace attnscope {

/// Gives the matrix this shape and discards its contents. Matrices of one batch have the same
/// shapes in every layer, so most calls do not allocate.
inline MatrixView<float> sized(Matrix<float>& matrix, std::int64_t rows, std::int64_t cols) {
  if (matrix.rows() != rows || matrix.cols() != cols) matrix = Matrix<float>(rows, cols);
  return matrix.view();
}

/// Returns the first `rows` rows, for row counts that vary between calls. Allocates only if the
/// matrix is too small.
inline MatrixView<float> sized_at_least(Matrix<float>& matrix, std::int64_t rows,
                                        std::int64_t cols) {
  if (matrix.rows() < rows || matrix.cols() != cols) matrix = Matrix<float>(rows, cols);
  return matrix.view().row_block(0, rows);
}

/// Copies rows to a matrix of the same shape. Columns must be contiguous.
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

/// Returns the mean of all rows, (1, cols), summed in float64.
inline Matrix<float> mean_row(MatrixView<const float> rows) {
  Matrix<float> out(1, rows.cols);
  for (std::int64_t col = 0; col < rows.cols; ++col) {
    double sum = 0;
    for (std::int64_t row = 0; row < rows.rows; ++row) sum += static_cast<double>(rows(row, col));
    out(0, col) = static_cast<float>(sum / static_cast<double>(rows.rows));
  }
  return out;
}

// Products of matrices computed during a run.

/// Computes out = x · rowsᵀ and resizes `out` accordingly.
inline void multiply_rows(MatrixView<const float> x, MatrixView<const float> rows,
                          Matrix<float>& out, const Compute& compute) {
  if (out.rows() != x.rows || out.cols() != rows.rows) out = Matrix<float>(x.rows, rows.rows);
  apply_linear(x, LinearWeights(rows, /*packed=*/false, compute), {}, out.view(), compute);
}

}  // namespace attnscope
