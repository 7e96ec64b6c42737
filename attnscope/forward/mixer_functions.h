// Functions that several mixers use.
#pragma once

#include <cmath>
#include <cstdint>

#include "attnscope/base/matrix_view.h"

namespace attnscope {

/// Returns ln(1 + eˣ).
inline float softplus(float x) {
  constexpr float kLinear = 20;  // softplus(x) = x above this, as in PyTorch
  return x > kLinear ? x : std::log1p(std::exp(x));
}

/// Replaces each row x by factor · x / sqrt(Σ x² + 1e-6).
inline void make_unit(MatrixView<float> rows, float factor) {
  constexpr float kEpsilon = 1e-6F;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    float squares = 0;
    for (std::int64_t col = 0; col < rows.cols; ++col) squares += rows(row, col) * rows(row, col);
    const float scale = factor / std::sqrt(squares + kEpsilon);
    for (std::int64_t col = 0; col < rows.cols; ++col) rows(row, col) *= scale;
  }
}

}  // namespace attnscope
