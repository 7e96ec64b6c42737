#include "attnscope/numerics/inference/activations.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "attnscope/numerics/inference/kernels/kernels.h"

namespace attnscope {
namespace {

/// Returns the same activation as the kernels, computed in float64.
double activation_of(Activation activation, double x) {
  constexpr double kRootOfHalf = 0.7071067811865476, kRootOfTwoOverPi = 0.7978845608028654;
  const auto sigmoid = [](double y) { return 1 / (1 + std::exp(-y)); };
  const auto gelu = [&] { return x * std::erfc(-x * kRootOfHalf) / 2; };
  switch (activation) {
    case Activation::linear: return x;
    case Activation::gelu: return gelu();
    case Activation::gelu_tanh:
      return x * sigmoid(2 * kRootOfTwoOverPi * (x + 0.044715 * x * x * x));
    case Activation::quick_gelu: return x * sigmoid(1.702 * x);
    case Activation::gelu_10: return std::clamp(gelu(), -10.0, 10.0);
    case Activation::silu: return x * sigmoid(x);
    case Activation::relu: return x < 0 ? 0 : x;
    case Activation::relu_squared: return x < 0 ? 0 : x * x;
    case Activation::tanh: return std::tanh(x);
    case Activation::sigmoid: return sigmoid(x);
    case Activation::mish: return x * std::tanh(std::log1p(std::exp(x)));
  }
  return x;
}

/// Calls function(line, count) for every run of contiguous values, on the threads of `compute`.
template <class Function>
void for_each_line(MatrixView<float> values, const Compute& compute, const Function& function) {
  constexpr std::int64_t kValuesPerPart = 1 << 15;
  if (values.rows == 0 || values.cols == 0) return;
  const std::int64_t rows = std::max<std::int64_t>(1, kValuesPerPart / values.cols);
  run_parts(compute, static_cast<std::size_t>((values.rows + rows - 1) / rows),
            [&](std::size_t part) {
              const std::int64_t first = static_cast<std::int64_t>(part) * rows;
              for (std::int64_t row = first; row < std::min(first + rows, values.rows); ++row) {
                function(&values(row, 0), static_cast<std::size_t>(values.cols));
              }
            });
}

}  // namespace

void activate(Activation activation, MatrixView<float> values, const Compute& compute) {
  if (activation == Activation::linear) return;
  for_each_line(values, compute, [&](float* line, std::size_t count) {
    if (compute.kernels.available()) {
      return kernels::activate_values(compute.kernels, activation, line, count);
    }
    for (float& value : std::span(line, count)) {
      value = static_cast<float>(activation_of(activation, static_cast<double>(value)));
    }
  });
}

void soft_cap(float cap, MatrixView<float> values, const Compute& compute) {
  for_each_line(values, compute, [&](float* line, std::size_t count) {
    if (compute.kernels.available()) return kernels::cap_values(compute.kernels, cap, line, count);
    for (float& value : std::span(line, count)) value = cap * std::tanh(value / cap);
  });
}

}  // namespace attnscope
