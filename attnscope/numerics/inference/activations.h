// Activations of whole matrices, and the soft cap, in float32.
#pragma once

#include "attnscope/base/activation.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Replaces every value by its activation, to within 2.5e-7 or, for a small result, 1e-7 of the
/// value. Rows are contiguous. NaN stays NaN.
void activate(Activation activation, MatrixView<float> values, const Compute& compute);

/// Replaces every value z by cap · tanh(z / cap).
void soft_cap(float cap, MatrixView<float> values, const Compute& compute);

}  // namespace attnscope
