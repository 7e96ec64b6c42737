#include "attnscope/numerics/inference/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/compute.h"

namespace attnscope {
namespace {

using namespace test;

/// The definitions of the papers in float64.
double by_definition(Activation activation, double x) {
  const auto sigmoid = [](double y) { return 1 / (1 + std::exp(-y)); };
  const double gelu = 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  switch (activation) {
    case Activation::linear: return x;
    case Activation::gelu: return gelu;
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3))));
    case Activation::quick_gelu: return x * sigmoid(1.702 * x);
    case Activation::gelu_10: return std::min(10.0, std::max(-10.0, gelu));
    case Activation::silu: return x * sigmoid(x);
    case Activation::relu: return std::max(x, 0.0);
    case Activation::relu_squared: return std::pow(std::max(x, 0.0), 2);
    case Activation::tanh: return std::tanh(x);
    case Activation::sigmoid: return sigmoid(x);
    case Activation::mish: return x * std::tanh(std::log1p(std::exp(x)));
  }
  return x;
}

constexpr Activation kAll[] = {
    Activation::linear,  Activation::gelu,    Activation::gelu_tanh, Activation::quick_gelu,
    Activation::gelu_10, Activation::silu,    Activation::relu,      Activation::relu_squared,
    Activation::tanh,    Activation::sigmoid, Activation::mish};

/// Dense near 0, where relative errors are visible, and far away, where functions saturate.
std::vector<float> arguments() {
  std::vector<float> out;
  for (float size = 1e-30F; size < 1e30F; size *= 10) out.insert(out.end(), {size, -size});
  for (int index = -400000; index <= 400000; ++index) {
    out.push_back(static_cast<float>(index) * 1.3e-5F);
  }
  for (int index = -40000; index <= 40000; ++index) {
    out.push_back(static_cast<float>(index) * 3.1e-3F);
  }
  return out;
}

TEST(Activations, EqualTheirDefinitions) {
  const std::vector<float> given = arguments();
  for (const Activation activation : kAll) {
    std::vector<float> found = given;
    const auto count = static_cast<std::int64_t>(found.size());
    activate(activation, {found.data(), 1, count, count, 1}, test_compute());
    double worst = 0, worst_at = 0;
    for (std::size_t index = 0; index < given.size(); ++index) {
      const double x = static_cast<double>(given[index]);
      const double wanted = by_definition(activation, x);
      const double off = std::abs(static_cast<double>(found[index]) - wanted);
      // The rounding of the last digit of a float32 for the smallest values.
      const double allowed = std::max({2.5e-7 * std::abs(wanted), 1e-7 * std::abs(x), 1.2e-38});
      const double share = std::isinf(found[index]) && wanted > 3.4e38 ? 0 : off / allowed;
      if (share > worst) worst = share, worst_at = x;
    }
    EXPECT_LE(worst, 1) << "activation " << static_cast<int>(activation) << " at " << worst_at;
  }
}

/// A stricter check where the value approaches zero with its argument, as needed by the softcap.
TEST(Activations, TanhKeepsItsDigitsNearZero) {
  const std::vector<float> given = arguments();
  std::vector<float> found = given;
  const auto count = static_cast<std::int64_t>(found.size());
  activate(Activation::tanh, {found.data(), 1, count, count, 1}, test_compute());
  for (std::size_t index = 0; index < given.size(); ++index) {
    const double wanted = std::tanh(static_cast<double>(given[index]));
    ASSERT_NEAR(static_cast<double>(found[index]), wanted, 1.5e-7 * std::abs(wanted))
        << given[index];
  }
}

TEST(Activations, NanStaysNan) {
  for (const Activation activation : kAll) {
    std::vector<float> values(21, 1.0F);
    values[3] = values[20] = std::numeric_limits<float>::quiet_NaN();
    activate(activation, {values.data(), 3, 7, 7, 1}, test_compute());
    for (std::size_t index = 0; index < values.size(); ++index) {
      EXPECT_EQ(std::isnan(values[index]), index == 3 || index == 20)
          << "activation " << static_cast<int>(activation);
    }
  }
}

TEST(Activations, LeaveGapsBetweenRowsUnchanged) {
  std::vector<float> values(30, -1.0F);
  activate(Activation::relu, {values.data(), 3, 7, 10, 1}, test_compute());
  for (std::size_t index = 0; index < values.size(); ++index) {
    EXPECT_EQ(values[index], index % 10 < 7 ? 0.0F : -1.0F);
  }
}

TEST(SoftCap, IsTheIdentityNearZeroAndBoundedFarOut) {
  std::vector<float> values = {0, 1e-6F, -1e-3F, 1, -30, 50, 100, -1e30F};
  const std::vector<float> given = values;
  soft_cap(50, {values.data(), 2, 4, 4, 1}, test_compute());
  for (std::size_t index = 0; index < values.size(); ++index) {
    const double wanted = 50 * std::tanh(static_cast<double>(given[index]) / 50);
    EXPECT_NEAR(static_cast<double>(values[index]), wanted, 3e-7 * std::abs(wanted));
  }
}

}  // namespace
}  // namespace attnscope
