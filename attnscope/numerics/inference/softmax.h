// Sums over the softmax of long rows, in float64: of float32 exponentials, which are fast, and of
// float64 ones, for numbers that are shown as they are.
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

/// Σ exp(x − shift) and Σ exp(x − shift) (x − shift), all of it in float64.
struct ExponentialSums {
  double sum = 0, weighted = 0;
};
ExponentialSums float64_exponentials(std::span<const float> x, double shift,
                                     const Compute& compute);

/// Σ exp(a − log_a) ((a − log_a) − (b − log_b)) of rows of one length, all of it in float64: KL(a ‖ b)
/// where these are the logs of the sums of both.
double float64_divergence(std::span<const float> a, double log_a, std::span<const float> b,
                          double log_b, const Compute& compute);

}  // namespace attnscope
