// Folds the norm before a projection into the projection matrix.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/base/heads.h"
#include "attnscope/base/matrix_view.h"

namespace attnscope {

/// How the norm before Q, K and V is folded into the circuits. See docs/metrics.md, "Circuits".
enum class FoldNorm {
  none,
  gain,      // multiply the columns of W_Q, W_K, W_V by its gain
  centered,  // also center the rows of these and the columns of W_O (LayerNorm only)
};

/// Multiplies column c of (n, D) by gain[c]; gain (D,).
void multiply_columns(Matrix<double>& matrix, std::span<const double> gain);

/// Subtracts the mean of each row. The output of a LayerNorm has zero mean before its gain, so
/// centering the rows of W_Q, W_K and W_V (with the gain folded in) changes no product.
/// TransformerLens' fold_layer_norm does the same.
void center_rows(Matrix<double>& matrix);

/// Subtracts the mean of each column. Used for W_O, because every later LayerNorm removes that
/// mean. The same as TransformerLens' center_writing_weights.
void center_columns(Matrix<double>& matrix);

/// Returns (n, D + 1): the matrix followed by `column` (n,), or by zeros if that is empty.
Matrix<double> with_column(const Matrix<double>& matrix, std::span<const double> column);

/// Computes R_Δ W_K for keys (G d, D). In every head of `head_dim` rows, the two rows of pair p
/// rotate by angles[p] radians and are multiplied by `factor`. Rows from 2 · angles.size() onward
/// stay unchanged.
void rotate_keys(MatrixView<double> keys, std::int64_t head_dim, std::span<const double> angles,
                 RotaryPairs pairs, double factor = 1);

}  // namespace attnscope
