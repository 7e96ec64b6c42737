#include "attnscope/base/activation.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

TEST(Activation, KnowsEverySpellingInConfigFiles) {
  const struct Case {
    std::string_view name;
    Activation wanted;
  } cases[] = {
      {"gelu", Activation::gelu},
      {"gelu_python", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_python_tanh", Activation::gelu_tanh},
      {"gelu_accurate", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh},
      {"quick_gelu", Activation::quick_gelu},
      {"gelu_10", Activation::gelu_10},
      {"silu", Activation::silu},
      {"swish", Activation::silu},
      {"relu", Activation::relu},
      {"relu2", Activation::relu_squared},
      {"tanh", Activation::tanh},
      {"sigmoid", Activation::sigmoid},
      {"linear", Activation::linear},
      {"mish", Activation::mish},
  };
  for (const auto& [name, wanted] : cases) {
    EXPECT_EQ(activation_from_name(name), wanted) << name;
  }
}

TEST(Activation, RejectsUnknownNames) {
  for (const std::string_view name : {"", "GELU", "gelu ", "relu6", "swiglu", "laplace"}) {
    EXPECT_EQ(activation_from_name(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace attnscope
