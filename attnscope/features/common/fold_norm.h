// What comes before a projection, taken into its matrix, so that a circuit stands for both.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/base/heads.h"
#include "attnscope/base/matrix_view.h"

namespace attnscope {

/// How the norm before Q, K and V becomes part of the circuits. docs/metrics.md, "Circuits".
enum class FoldNorm {
  none,
  gain,      // its gain multiplies the columns of W_Q, W_K, W_V
  centered,  // and, of a LayerNorm, their rows and the columns of W_O lose their means
};

/// Column c of (n, D) times gain[c]; gain (D,).
void multiply_columns(Matrix<double>& matrix, std::span<const double> gain);

/// Each row less its mean. A LayerNorm takes the mean out of what it is given, so that W x and
/// (W less its rows' means) x are equal for all that it gives: for W_Q, W_K, W_V with the gain in
/// them. TransformerLens' fold_layer_norm does the same.
void center_rows(Matrix<double>& matrix);

/// Each column less its mean: for W_O, of whose columns every LayerNorm after it removes the mean.
/// TransformerLens' center_writing_weights.
void center_columns(Matrix<double>& matrix);

/// (n, D + 1): the matrix, then `column` (n,), or zeros where it is empty.
Matrix<double> with_column(const Matrix<double>& matrix, std::span<const double> column);

/// R_Δ W_K of keys (G d, D): in every head of `head_dim` rows the two rows of pair p of n =
/// angles.size() turn by angles[p] radians and are multiplied by `factor`; those from 2 n on stay.
void rotate_keys(MatrixView<double> keys, std::int64_t head_dim, std::span<const double> angles,
                 RotaryPairs pairs, double factor = 1);

}  // namespace attnscope
