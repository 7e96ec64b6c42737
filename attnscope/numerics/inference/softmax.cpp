#include "attnscope/numerics/inference/softmax.h"

#include <algorithm>
#include <cmath>

#include "attnscope/numerics/inference/kernels/kernels.h"

namespace attnscope {

SoftmaxSum softmax_sum(std::span<const float> x, const Compute& compute) {
  if (compute.kernels.available()) {
    const float largest = kernels::largest_element(compute.kernels, x);
    const double sum = kernels::sum_of_exponentials(compute.kernels, x, largest);
    return {.largest = largest, .log_sum = static_cast<double>(largest) + std::log(sum)};
  }
  const float largest = *std::max_element(x.begin(), x.end());
  const auto most = static_cast<double>(largest);
  double sum = 0;
  for (const float value : x) sum += std::exp(static_cast<double>(value) - most);
  return {.largest = largest, .log_sum = most + std::log(sum)};
}

double weighted_difference(std::span<const float> w, std::span<const float> a,
                           std::span<const float> b, const Compute& compute) {
  if (compute.kernels.available()) {
    return kernels::sum_of_weighted_differences(compute.kernels, w, a, b);
  }
  double sum = 0;
  for (std::size_t at = 0; at < w.size(); ++at) {
    sum += static_cast<double>(w[at]) * static_cast<double>(a[at] - b[at]);
  }
  return sum;
}

ExponentialSums float64_exponentials(std::span<const float> x, double shift,
                                     const Compute& compute) {
  if (compute.kernels.available()) return kernels::float64_exponentials(compute.kernels, x, shift);
  ExponentialSums out;
  for (const float value : x) {
    const double below = static_cast<double>(value) - shift, weight = std::exp(below);
    out.sum += weight;
    out.weighted += weight * below;
  }
  return out;
}

double float64_divergence(std::span<const float> a, double log_a, std::span<const float> b,
                          double log_b, const Compute& compute) {
  if (compute.kernels.available()) {
    return kernels::float64_divergence(compute.kernels, a, log_a, b, log_b);
  }
  double sum = 0;
  for (std::size_t at = 0; at < a.size(); ++at) {
    const double of_a = static_cast<double>(a[at]) - log_a;
    sum += std::exp(of_a) * (of_a - (static_cast<double>(b[at]) - log_b));
  }
  return sum;
}

}  // namespace attnscope
