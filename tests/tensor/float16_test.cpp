#include "attnscope/tensor/float16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace attnscope {
namespace {

TEST(Float16, EveryPatternIsFoundAgain) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float value = f16_to_float(pattern);
    if (!std::isnan(value)) EXPECT_EQ(f16_pattern(value), pattern);
    EXPECT_EQ(bf16_pattern(std::bit_cast<float>(bits << 16)), pattern);
  }
  EXPECT_TRUE(std::isnan(f16_to_float(f16_pattern(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace attnscope
