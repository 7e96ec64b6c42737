// x Wᵀ of rows with a panel of weights, and what is done with the sums.
#pragma once

#include <cstddef>

#include "attnscope/base/activation.h"
#include "attnscope/numerics/inference/kernels/linear_panels.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// A (rows, columns) matrix with contiguous rows; null data: there is none.
template <class T>
struct Lines {
  T* data = nullptr;
  std::size_t step = 0;  // from one row to the next, in elements
};

/// One block of inputs of one panel.
struct PanelProduct {
  std::size_t rows = 0;
  std::size_t columns = kPanel;  // outputs of the panel that exist
  Lines<const float> x;          // from the first input on
  const float* panel = nullptr;  // of `panel_depth` inputs
  std::size_t panel_depth = 0;
  std::size_t first = 0;  // in the panel
  std::size_t depth = 0;  // inputs
  /// (rows, kPanel). On entry the sums over earlier inputs (not if is_first); on return the sums
  /// including these inputs (not if is_last).
  float* sums = nullptr;
  bool is_first = true;
  bool is_last = true;
  /// If is_last: out = activation(sums + bias) * multiply + add. All start at the panel's first
  /// output; `multiply` and `add` may be `out`.
  const float* bias = nullptr;
  Activation activation = Activation::linear;
  Lines<const float> multiply, add;
  Lines<float> out;
};

void multiply_panel(Kernels kernels, const PanelProduct& product);

}  // namespace attnscope::kernels
