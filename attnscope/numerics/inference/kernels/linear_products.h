// x Wᵀ of rows with a panel of weights, and what becomes of the sums.
#pragma once

#include <cstddef>

#include "attnscope/core/activation.h"
#include "attnscope/numerics/inference/kernels/linear_panels.h"
#include "attnscope/numerics/instruction_set.h"

namespace attnscope::kernels {

/// A (rows, columns) matrix whose rows lie together; no data: there is none.
template <class T>
struct Lines {
  T* data = nullptr;
  std::size_t step = 0;  // from one row to the next, in elements
};

/// One block of inputs of one panel.
struct PanelProduct {
  std::size_t rows = 0;
  std::size_t columns = kPanel;  // outputs of the panel that there are
  Lines<const float> x;          // from the first input on
  const float* panel = nullptr;  // of `panel_depth` inputs
  std::size_t panel_depth = 0;
  std::size_t first = 0;  // in the panel
  std::size_t depth = 0;  // inputs
  /// (rows, kPanel): sums of the inputs before (unless is_first), then of these too (unless
  /// is_last).
  float* sums = nullptr;
  bool is_first = true;
  bool is_last = true;
  /// Where it is the last: out = activation(sums + bias) * multiply + add. All start at the panel's
  /// first output; `multiply` and `add` may be `out`.
  const float* bias = nullptr;
  Activation activation = Activation::linear;
  Lines<const float> multiply, add;
  Lines<float> out;
};

void multiply_panel(Kernels kernels, const PanelProduct& product);

}  // namespace attnscope::kernels
