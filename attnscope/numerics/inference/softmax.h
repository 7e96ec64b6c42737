// Sums over the softmax of long rows, in float64. Exponentials are float32, which is fast, or
// float64, for results that are printed directly.
#pragma once

#include <span>

#include "attnscope/numerics/compute.h"

namespace attnscope {

struct SoftmaxSum {
  float largest = 0;
  double log_sum = 0;  // log Σ exp(x), off by at most 2⁻²³ and the rounding of float64
};

/// Requires at least one number, and only finite ones.
SoftmaxSum softmax_sum(std::span<const float> x, const Compute& compute);

/// Returns Σ w (a − b) for rows of one length. With w = softmax(a), this is KL(a ‖ b) without the
/// terms of both log_sum.
double weighted_difference(std::span<const float> w, std::span<const float> a,
                           std::span<const float> b, const Compute& compute);

/// Σ exp(x − shift) and Σ exp(x − shift) (x − shift), both computed in float64.
struct ExponentialSums {
  double sum = 0, weighted = 0;
};
ExponentialSums float64_exponentials(std::span<const float> x, double shift,
                                     const Compute& compute);

/// Returns Σ exp(a − log_a) ((a − log_a) − (b − log_b)) for rows of one length, in float64. This is
/// KL(a ‖ b) if `log_a` and `log_b` are the log-sums of both.
double float64_divergence(std::span<const float> a, double log_a, std::span<const float> b,
                          double log_b, const Compute& compute);

}  // namespace attnscope
