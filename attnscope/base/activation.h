// Activation functions of MLPs.
#pragma once

#include <optional>
#include <string_view>

namespace attnscope {

/// σ is the logistic function, Φ the cumulative distribution function of the standard normal.
enum class Activation {
  linear,        // x
  gelu,          // x Φ(x)
  gelu_tanh,     // x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2
  quick_gelu,    // x σ(1.702 x)
  gelu_10,       // gelu, clipped to ±10
  silu,          // x σ(x)
  relu,          // max(x, 0)
  relu_squared,  // max(x, 0)²
  tanh,
  sigmoid,  // σ(x)
  mish,     // x tanh(ln(1 + eˣ))
};

/// Returns the activation function with this name in transformers (ACT2FN). Returns nothing for a
/// name that transformers or attnscope does not know.
std::optional<Activation> activation_from_name(std::string_view name);

}  // namespace attnscope
