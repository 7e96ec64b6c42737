// Activations of many values, in place.
#pragma once

#include <cstddef>

#include "attnscope/base/activation.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

void activate_values(Kernels kernels, Activation activation, float* values, std::size_t count);

/// limit · tanh(value / limit).
void cap_values(Kernels kernels, float limit, float* values, std::size_t count);

}  // namespace attnscope::kernels
