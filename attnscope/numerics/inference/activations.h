// Activation functions and soft cap of whole matrices, in float32.
#pragma once

#include "attnscope/base/activation.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Replaces every value by its activation, with an error of at most 2.5e-7, or 1e-7 of the value
/// for small results. Rows must be contiguous. NaN stays NaN.
void activate(Activation activation, MatrixView<float> values, const Compute& compute);

/// Replaces every value z by cap · tanh(z / cap).
void soft_cap(float cap, MatrixView<float> values, const Compute& compute);

}  // namespace attnscope
