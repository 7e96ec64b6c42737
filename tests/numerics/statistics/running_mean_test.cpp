// Means and ratios with standard errors: by hand, compared with a bootstrap, and the coverage of
// intervals of two standard errors on simulated texts.
#include "attnscope/numerics/statistics/running_mean.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "attnscope/inputs/text/token_windows.h"

namespace attnscope {
namespace {

TEST(RunningMean, IsTheMeanWithItsStandardError) {
  RunningMean values;
  EXPECT_FALSE(values.result().mean);
  values.add(2.0);
  EXPECT_EQ(values.result().mean, 2.0);
  EXPECT_FALSE(values.result().standard_error);
  values.add(std::nullopt);
  values.add(4.0);
  values.add(9.0);
  // Mean 5, squared deviations 9 + 1 + 16.
  EXPECT_EQ(values.result().mean, 5.0);
  EXPECT_DOUBLE_EQ(values.result().standard_error.value(), std::sqrt(26.0 / 2 / 3));
}

TEST(RunningMean, KeepsItsDigitsFarFromZero) {
  RunningMean values;
  for (const double value : {1e9 + 1, 1e9 + 2, 1e9 + 3}) values.add(value);
  EXPECT_EQ(values.result().mean, 1e9 + 2);
  EXPECT_DOUBLE_EQ(values.result().standard_error.value(), std::sqrt(1.0 / 3));
}

TEST(RatioOfSums, IsExactIfPartsEqualWholes) {
  const std::vector<double> whole = {0.1, 0.7, -0.3, 2.9};
  const MeanWithError found = ratio_of_sums(whole, whole);
  EXPECT_EQ(found.mean, 1.0);
  EXPECT_EQ(found.standard_error, 0.0);
}

TEST(RatioOfSums, IsTheMeanForEqualWholes) {
  const std::vector<double> parts = {6, 12, 27}, wholes = {3, 3, 3};
  RunningMean means;
  for (const double part : parts) means.add(part / 3);
  const MeanWithError found = ratio_of_sums(parts, wholes);
  EXPECT_DOUBLE_EQ(found.mean.value(), means.result().mean.value());
  EXPECT_DOUBLE_EQ(found.standard_error.value(), means.result().standard_error.value());
}

TEST(RatioOfSums, HasNoErrorForOnePairAndNoValueWithoutPairs) {
  const std::vector<double> one = {3}, two = {6}, none;
  EXPECT_EQ(ratio_of_sums(one, two).mean, 0.5);
  EXPECT_FALSE(ratio_of_sums(one, two).standard_error);
  EXPECT_FALSE(ratio_of_sums(none, none).mean);
  EXPECT_FALSE(ratio_of_sums(std::vector<double>{1, 2}, std::vector<double>{1, -1}).mean);
}

/// The standard deviation of the ratio over bootstrap samples of the pairs.
double bootstrap_error(const std::vector<double>& parts, const std::vector<double>& wholes) {
  constexpr int kDraws = 10'000;
  std::mt19937_64 generator(1);
  double sum = 0, squares = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double part = 0, whole = 0;
    for (std::size_t at = 0; at < parts.size(); ++at) {
      const std::size_t drawn = generator() % parts.size();
      part += parts[drawn];
      whole += wholes[drawn];
    }
    sum += part / whole;
    squares += part / whole * part / whole;
  }
  return std::sqrt(squares / kDraws - sum / kDraws * sum / kDraws);
}

TEST(RatioOfSums, HasTheErrorOfABootstrap) {
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  // Parts that correlate with their wholes strongly, weakly, not at all, and negatively.
  for (const double follows : {0.95, 0.5, 0.0, -0.4}) {
    std::vector<double> parts, wholes;
    for (int pair = 0; pair < 200; ++pair) {
      const double whole = 3 + normal(generator);
      wholes.push_back(whole);
      parts.push_back(follows * whole + 0.3 * normal(generator));
    }
    const double error = ratio_of_sums(parts, wholes).standard_error.value();
    // 10,000 bootstrap samples have an error of 1 / sqrt(20,000) = 0.7%. The factor sqrt(N / (N −
    // 1)) and the terms that the delta method omits, of order (s / mean)² / N, are below 0.5%.
    EXPECT_NEAR(error / bootstrap_error(parts, wholes), 1, 0.035) << follows;
  }
}

/// Simulated losses of a text, each the mean over 16 tokens: independent noise plus a slow
/// component that decays over `lasts` losses. Consecutive windows of 256 tokens have a correlation
/// of 0.2 to 0.4, as in real texts.
class SimulatedText {
 public:
  explicit SimulatedText(std::uint64_t seed, double lasts, double mood)
      : generator_(seed), keeps_(lasts > 0 ? std::exp(-1 / lasts) : 0), size_(mood) {}

  std::vector<double> losses(std::size_t count) {
    std::vector<double> out;
    double mood = normal_(generator_);
    for (std::size_t at = 0; at < count; ++at) {
      out.push_back(kMean + kNoise * normal_(generator_) + size_ * mood);
      mood = keeps_ * mood + std::sqrt(1 - keeps_ * keeps_) * normal_(generator_);
    }
    return out;
  }

  static constexpr double kMean = 3, kNoise = 2.5 / 4;  // for 16 tokens; a single token has 2.5

 private:
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
  double keeps_, size_;
};

struct Mood {
  double lasts, size;
};
constexpr Mood kMoods[] = {{0, 0}, {6, 0.4}, {19, 0.15}, {19, 0.3}};
constexpr std::int64_t kWindow = 16;  // in losses; 256 tokens
/// With this number of trials, a coverage has an error of sqrt(.93 · .07 / 4000) = 0.4%.
constexpr int kTrials = 4000;
constexpr double kLeastCoverage = 0.92, kMostCoverage = 0.985;

bool holds(const MeanWithError& found, double mean) {
  return std::abs(found.mean.value() - mean) <= 2 * found.standard_error.value();
}

TEST(StandardErrors, RandomWindowsCoverTheMeanOfTheText) {
  constexpr std::int64_t kLosses = 50'000, kWindows = 16;
  for (const Mood& mood : kMoods) {
    const std::vector<double> losses = SimulatedText(3, mood.lasts, mood.size).losses(kLosses);
    std::vector<double> sums = {0};
    for (const double loss : losses) sums.push_back(sums.back() + loss);
    const double mean = sums.back() / kLosses;
    const auto over = [&](const std::vector<std::int64_t>& starts) {
      RunningMean windows;
      for (const std::int64_t start : starts) {
        const auto first = static_cast<std::size_t>(start);
        windows.add((sums[first + kWindow] - sums[first]) / kWindow);
      }
      return windows.result();
    };
    int random = 0, consecutive = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto seed = static_cast<std::uint64_t>(trial);
      random +=
          holds(over(window_starts(
                    kLosses, {.sequences = kWindows, .length = kWindow, .sample = seed}, "text")),
                mean);
      const std::int64_t from = (kLosses - kWindows * kWindow) / kTrials * trial;
      std::vector<std::int64_t> starts;
      for (std::int64_t at = 0; at < kWindows; ++at) starts.push_back(from + at * kWindow);
      consecutive += holds(over(starts), mean);
    }
    EXPECT_GE(random, kLeastCoverage * kTrials) << mood.lasts << ' ' << mood.size;
    EXPECT_LE(random, kMostCoverage * kTrials) << mood.lasts << ' ' << mood.size;
    // Why random windows are the default: with correlated losses, consecutive windows cover the
    // mean less often.
    if (mood.size > 0) {
      EXPECT_LT(consecutive, random - 100) << mood.lasts << ' ' << mood.size;
    }
  }
}

TEST(StandardErrors, BlocksCoverTheMeanOfTheSimulatedSource) {
  constexpr std::size_t kLosses = 100 * kWindow;
  for (const Mood& mood : kMoods) {
    SimulatedText text(5, mood.lasts, mood.size);
    int blocks = 0, windows = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const std::vector<double> losses = text.losses(kLosses);
      RunningMean of_losses, of_windows;
      double window = 0;
      for (std::size_t at = 0; at < losses.size(); ++at) {
        of_losses.add(losses[at]);
        window += losses[at] / kWindow;
        if ((at + 1) % kWindow != 0) continue;
        of_windows.add(window);
        window = 0;
      }
      const double mean = of_losses.result().mean.value();
      blocks += holds({.mean = mean, .standard_error = block_standard_error(losses)},
                      SimulatedText::kMean);
      windows += holds(of_windows.result(), SimulatedText::kMean);
    }
    EXPECT_GE(blocks, kLeastCoverage * kTrials) << mood.lasts << ' ' << mood.size;
    EXPECT_LE(blocks, kMostCoverage * kTrials) << mood.lasts << ' ' << mood.size;
    if (mood.size > 0) {
      EXPECT_LT(windows, blocks) << mood.lasts << ' ' << mood.size;
    }
  }
}

TEST(BlockStandardError, EqualsThatOfUncorrelatedBlockMeans) {
  // Both values of a block are 1 or −1, alternating, so no autocorrelation is above 0.
  std::vector<double> values;
  for (std::int64_t block = 0; block < kErrorBlocks; ++block) {
    values.insert(values.end(), 2, block % 2 == 0 ? 1.0 : -1.0);
  }
  EXPECT_DOUBLE_EQ(block_standard_error(values).value(), std::sqrt(16.0 / 15 / 16));
}

TEST(BlockStandardError, IncreasesWithTheCorrelationOfBlocks) {
  // Blocks −7.5, −6.5, …, 7.5: squares 340, products of neighbors 276.25.
  std::vector<double> values;
  for (std::int64_t block = 0; block < kErrorBlocks; ++block) {
    values.insert(values.end(), 2, static_cast<double>(block) - 7.5);
  }
  const double found = 276.25 / 340, shared = std::min(0.9, found + (1 + 3 * found) / 16);
  EXPECT_DOUBLE_EQ(block_standard_error(values).value(),
                   std::sqrt(340.0 / 15 / 16 * (1 + shared) / (1 - shared)));
}

TEST(BlockStandardError, NeedsTwoValuesPerBlock) {
  std::vector<double> values(kFewestBlockValues - 1, 1.0);
  EXPECT_FALSE(block_standard_error(values));
  values.push_back(1.0);
  EXPECT_EQ(block_standard_error(values), 0.0);
  values.push_back(1.0);  // blocks of two and of three values
  EXPECT_EQ(block_standard_error(values), 0.0);
}

}  // namespace
}  // namespace attnscope
