// Sums over the softmax of long rows: float32 exponentials, sums in float64.
#pragma once

#include <span>

#include "attnscope/numerics/compute.h"

namespace attnscope {

struct SoftmaxSum {
  float largest = 0;
  double log_sum = 0;  // log Σ exp(x), off by at most 2⁻²³ and the rounding of float64
};

/// Of finite numbers, one or more.
SoftmaxSum softmax_sum(std::span<const float> x, const Compute& compute);

/// Σ w (a − b) of rows of one length: with w = softmax(a), KL(a ‖ b) but for both log_sum.
double weighted_difference(std::span<const float> w, std::span<const float> a,
                           std::span<const float> b, const Compute& compute);

}  // namespace attnscope
