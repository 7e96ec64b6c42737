#include "attnscope/checkpoint/quantized/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

/// All finite non-negative values of a 16-bit dtype in ascending order, which is the order of their
/// bit patterns, then infinity.
std::vector<float> rounded_values(DType dtype, std::uint16_t infinity) {
  std::vector<std::uint16_t> patterns;
  for (std::uint32_t pattern = 0; pattern <= infinity; ++pattern) {
    patterns.push_back(static_cast<std::uint16_t>(pattern));
  }
  std::vector<float> values(patterns.size());
  const TensorView view{
      .dtype = dtype, .shape = {std::ssize(patterns)}, .bytes = std::as_bytes(std::span(patterns))};
  decode_elements(view, 0, 1, std::ssize(patterns), values.data());
  return values;
}

float rounded(DType dtype, float value) {
  round_values(dtype, {&value, 1});
  return value;
}

/// Checks each value, the midpoint between it and the next, and both neighbors of the midpoint.
void expect_nearest(DType dtype, std::uint16_t infinity) {
  const std::vector<float> values = rounded_values(dtype, infinity);
  for (std::size_t at = 0; at + 2 < values.size(); ++at) {
    const float lower = values[at], upper = values[at + 1];
    const float middle = lower + (upper - lower) / 2;
    const float even = at % 2 == 0 ? lower : upper;
    for (const float sign : {1.0f, -1.0f}) {
      EXPECT_EQ(rounded(dtype, sign * lower), sign * lower);
      EXPECT_EQ(rounded(dtype, sign * middle), sign * even) << middle;
      EXPECT_EQ(rounded(dtype, sign * std::nextafter(middle, 0.0f)), sign * lower) << middle;
      EXPECT_EQ(rounded(dtype, sign * std::nextafter(middle, INFINITY)), sign * upper) << middle;
    }
  }
  for (const float special : {INFINITY, std::numeric_limits<float>::max()}) {
    EXPECT_EQ(rounded(dtype, special), INFINITY);
    EXPECT_EQ(rounded(dtype, -special), -INFINITY);
  }
  EXPECT_TRUE(std::isnan(rounded(dtype, NAN)));
  EXPECT_TRUE(std::signbit(rounded(dtype, -0.0f)));
  EXPECT_FALSE(std::signbit(rounded(dtype, 1e-45f)));
}

TEST(Rounding, RoundsEveryFloat16AndMidpoint) {
  expect_nearest(DType::f16, 0x7C00);
  EXPECT_EQ(rounded(DType::f16, 65519.996f), 65504);
  EXPECT_EQ(rounded(DType::f16, 65520), INFINITY);  // halfway to what would be 2^16
}

TEST(Rounding, RoundsEveryBfloat16AndMidpoint) { expect_nearest(DType::bf16, 0x7F80); }

TEST(Rounding, KeepsFloat32) {
  EXPECT_EQ(rounded(DType::f32, 1.1f), 1.1f);
  EXPECT_THROW(rounded(DType::f64, 1), std::invalid_argument);
}

}  // namespace
}  // namespace attnscope
