#include "attnscope/base/activation.h"

#include <algorithm>
#include <array>

namespace attnscope {
namespace {

struct Spelling {
  std::string_view name;
  Activation activation;
};

constexpr std::array kSpellings = {
    Spelling{"linear", Activation::linear},
    Spelling{"gelu", Activation::gelu},
    Spelling{"gelu_python", Activation::gelu},
    Spelling{"gelu_pytorch_tanh", Activation::gelu_tanh},
    Spelling{"gelu_python_tanh", Activation::gelu_tanh},
    Spelling{"gelu_new", Activation::gelu_tanh},
    Spelling{"gelu_accurate", Activation::gelu_tanh},
    Spelling{"gelu_fast", Activation::gelu_tanh},
    Spelling{"quick_gelu", Activation::quick_gelu},
    Spelling{"gelu_10", Activation::gelu_10},
    Spelling{"silu", Activation::silu},
    Spelling{"swish", Activation::silu},
    Spelling{"relu", Activation::relu},
    Spelling{"relu2", Activation::relu_squared},
    Spelling{"tanh", Activation::tanh},
    Spelling{"sigmoid", Activation::sigmoid},
    Spelling{"mish", Activation::mish},
};

}  // namespace

std::optional<Activation> activation_from_name(std::string_view name) {
  const auto found = std::ranges::find(kSpellings, name, &Spelling::name);
  if (found == kSpellings.end()) return std::nullopt;
  return found->activation;
}

}  // namespace attnscope
