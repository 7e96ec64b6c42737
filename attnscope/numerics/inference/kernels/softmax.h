// Sums over rows; see numerics/inference/softmax.h.
#pragma once

#include <span>

#include "attnscope/numerics/inference/softmax.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

float largest_element(Kernels kernels, std::span<const float> x);

/// Σ exp(x − largest)
double sum_of_exponentials(Kernels kernels, std::span<const float> x, float largest);

/// Σ w (a − b)
double sum_of_weighted_differences(Kernels kernels, std::span<const float> w,
                                   std::span<const float> a, std::span<const float> b);

ExponentialSums float64_exponentials(Kernels kernels, std::span<const float> x, double shift);

double float64_divergence(Kernels kernels, std::span<const float> a, double log_a,
                          std::span<const float> b, double log_b);

}  // namespace attnscope::kernels
