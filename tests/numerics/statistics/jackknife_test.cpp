#include "attnscope/numerics/statistics/jackknife.h"

#include <gtest/gtest.h>

#include <vector>

namespace attnscope {
namespace {

TEST(Jackknife, EqualsTheStandardErrorOfAMeanForEqualWholes) {
  const std::vector<double> parts = {1, 4, 2, 7}, wholes = {2, 2, 2, 2};
  const MeanWithError found = jackknife_ratio(parts, wholes);
  EXPECT_DOUBLE_EQ(*found.mean, 1.75);
  // s / sqrt(N) of parts / 2: s² = 7 / 4.
  EXPECT_NEAR(*found.standard_error, 0.6614378277661477, 1e-15);
}

TEST(Jackknife, OmitsOnePairAtATime) {
  // R without pair i: 6/5, 5/4, 3/3; mean 1.15.
  const std::vector<double> parts = {1, 2, 4}, wholes = {1, 2, 3};
  const MeanWithError found = jackknife_ratio(parts, wholes);
  EXPECT_DOUBLE_EQ(*found.mean, 7.0 / 6);
  EXPECT_NEAR(*found.standard_error, 0.15275252316519466, 1e-15);
}

TEST(Jackknife, HasNoErrorForOnePairAndNoRatioOfNothing) {
  EXPECT_FALSE(jackknife_ratio(std::vector<double>{1}, std::vector<double>{2}).standard_error);
  EXPECT_FALSE(jackknife_ratio(std::vector<double>{1, 2}, std::vector<double>{2, -2}).mean);
}

}  // namespace
}  // namespace attnscope
