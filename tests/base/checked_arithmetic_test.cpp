#include "attnscope/base/checked_arithmetic.h"

#include <gtest/gtest.h>

namespace attnscope {
namespace {

constexpr std::uint64_t kMax = UINT64_MAX;

TEST(Checked, AddRejectsOverflow) {
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
}

TEST(Checked, MulRejectsOverflow) {
  EXPECT_EQ(checked_mul(kMax, 1), kMax);
  EXPECT_EQ(checked_mul(kMax, 0), 0u);
  EXPECT_EQ(checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32), std::nullopt);
}

}  // namespace
}  // namespace attnscope
