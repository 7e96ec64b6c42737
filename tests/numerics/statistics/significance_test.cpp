// Sign-flip tests by hand and by enumeration, their false positives in simulation, and the coverage
// of bootstrap intervals.
#include "attnscope/numerics/statistics/significance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace attnscope {
namespace {

std::vector<double> normal_values(std::mt19937_64& random, std::size_t count, double mean) {
  std::normal_distribution<double> normal(mean, 1);
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

TEST(SignFlips, CountPatternsWithAtLeastThisSum) {
  EXPECT_FALSE(sign_flip_p_value({}));
  EXPECT_EQ(sign_flip_p_value(std::vector{0.5}), 1.0);  // ±0.5
  // Sums of ±1 ±2 ±3 with |sum| ≥ 6: two of eight. ≥ 4 (1 + 3 or −1 + 2 + 3): four of eight.
  EXPECT_EQ(sign_flip_p_value(std::vector{1.0, 2.0, 3.0}), 0.25);
  EXPECT_EQ(sign_flip_p_value(std::vector{-1.0, 2.0, 3.0}), 0.5);
  EXPECT_EQ(sign_flip_p_value(std::vector<double>(12, 0.1)), std::exp2(-11));
  EXPECT_EQ(sign_flip_p_value(std::vector<double>(5, 0.0)), 1.0);
}

TEST(SignFlips, GroupsFlipTogether) {
  const std::vector<double> values = {1, 1, 2, 2, 3, 3};
  const std::vector<std::int64_t> pairs = {0, 0, 1, 1, 2, 2};
  EXPECT_EQ(sign_flip_p_value(values, pairs), 0.25);
  EXPECT_LT(sign_flip_p_value(values).value(), 0.05);
}

TEST(SignFlips, DrawnPatternsAgreeWithTheNormalApproximation) {
  std::mt19937_64 random(3);
  const std::vector<double> values = normal_values(random, 40, 0.25);
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const double approximate = std::erfc(std::abs(sum) / std::sqrt(2 * squares));
  EXPECT_NEAR(sign_flip_p_value(values).value(), approximate, 0.01);
  EXPECT_EQ(sign_flip_p_value(values), sign_flip_p_value(values));
  EXPECT_EQ(sign_flip_p_value(std::vector<double>(40, 1.0)), 1 / 1000001.0);
}

/// Under the hypothesis, p ≤ 0.05 in 5% of cases.
TEST(SignFlips, HaveTheirNominalErrorRate) {
  std::mt19937_64 random(1);
  int rejected = 0;
  constexpr int kRuns = 4000;
  for (int run = 0; run < kRuns; ++run) {
    if (sign_flip_p_value(normal_values(random, 10, 0)).value() <= 0.05) ++rejected;
  }
  // 25 of 512 pattern pairs: 4.88%. Four standard deviations of a binomial share: 1.4%.
  EXPECT_NEAR(rejected / static_cast<double>(kRuns), 0.0488, 0.014);
}

TEST(SignFlips, SayHowManyPromptsAreNeeded) {
  EXPECT_EQ(smallest_sign_flip_p_value(1), 1);
  EXPECT_EQ(smallest_sign_flip_p_value(16), std::exp2(-15));
  EXPECT_GT(smallest_sign_flip_p_value(16), 0.05 / 2160);
  EXPECT_EQ(groups_needed(2160, 0.05), 17);  // 2^−16 ≤ 0.05 / 2160 < 2^−15
  EXPECT_EQ(groups_needed(1, 0.05), 6);
}

/// By hand: sorted 0.01, 0.02, 0.03, 0.2, 0.9 against 0.01, 0.02, 0.03, 0.04, 0.05.
TEST(BenjaminiHochberg, RejectsUpToTheLastValueBelowItsBound) {
  const std::vector<double> p = {0.2, 0.03, 0.01, 0.9, 0.02};
  EXPECT_EQ(benjamini_hochberg(p, 0.05), (std::vector<bool>{false, true, true, false, true}));
  EXPECT_EQ(benjamini_hochberg(std::vector{0.06, 0.07}, 0.05), (std::vector<bool>{false, false}));
  // 0.03 > 0.025, but 0.05 ≤ 0.05: both are rejected.
  EXPECT_EQ(benjamini_hochberg(std::vector{0.03, 0.05}, 0.05), (std::vector<bool>{true, true}));
  EXPECT_TRUE(benjamini_hochberg({}, 0.05).empty());
}

TEST(BootstrapRatio, CoversTheRatioInSimulation) {
  std::mt19937_64 random(2);
  int covered = 0;
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<double> wholes = normal_values(random, 24, 4);
    std::vector<double> parts = normal_values(random, 24, 0);
    for (std::size_t at = 0; at < parts.size(); ++at)
      parts[at] = 0.3 * wholes[at] + 0.5 * parts[at];
    const BootstrapInterval found =
        bootstrap_ratio(parts, wholes, {}, static_cast<std::uint64_t>(run)).value();
    if (found.low <= 0.3 && 0.3 <= found.high) ++covered;
  }
  // Percentile intervals of 24 values cover about 93%. Four standard deviations: 6%.
  EXPECT_NEAR(covered / static_cast<double>(kRuns), 0.93, 0.06);
}

TEST(BootstrapRatio, IsEmptyForFewPromptsAndGapsAroundZero) {
  EXPECT_FALSE(bootstrap_ratio(std::vector<double>(7, 1.0), std::vector<double>(7, 2.0)));
  EXPECT_FALSE(bootstrap_ratio(std::vector<double>(8, 1.0), std::vector<double>(8, 0.0)));
  const auto exact = bootstrap_ratio(std::vector<double>(8, 1.0), std::vector<double>(8, 2.0));
  EXPECT_EQ(exact.value().low, 0.5);
  EXPECT_EQ(exact.value().high, 0.5);
  const auto negative = bootstrap_ratio(std::vector<double>(8, 1.0), std::vector<double>(8, -2.0));
  EXPECT_EQ(negative.value().low, -0.5);
  const std::vector<std::int64_t> halves = {0, 0, 1, 1, 2, 2, 3, 3};
  EXPECT_FALSE(bootstrap_ratio(std::vector<double>(8, 1.0), std::vector<double>(8, 2.0), halves));
}

}  // namespace
}  // namespace attnscope
