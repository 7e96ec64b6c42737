#include "attnscope/forward/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "attnscope/forward/logits.h"
#include "tests/support/compute.h"

namespace attnscope {
namespace {

using Window = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // first, length, predicted

std::vector<Window> windows(std::int64_t tokens, std::int64_t length, std::int64_t stride) {
  std::vector<Window> out;
  for (const PerplexityWindow& window : perplexity_windows(tokens, length, stride)) {
    out.emplace_back(window.first, window.length, window.predicted);
  }
  return out;
}

TEST(PerplexityWindows, CoverATextWithoutOverlap) {
  EXPECT_EQ(windows(10, 4, 4), (std::vector<Window>{{0, 4, 3}, {4, 4, 3}, {8, 2, 1}}));
  EXPECT_EQ(windows(8, 4, 4), (std::vector<Window>{{0, 4, 3}, {4, 4, 3}}));
  EXPECT_EQ(windows(3, 3, 3), (std::vector<Window>{{0, 3, 2}}));
}

TEST(PerplexityWindows, ALastWindowOfOneTokenPredictsNothing) {
  EXPECT_EQ(windows(5, 4, 4), (std::vector<Window>{{0, 4, 3}, {4, 1, 0}}));
}

TEST(PerplexityWindows, OverlappingWindowsCountNewTokensOnly) {
  EXPECT_EQ(windows(10, 4, 2), (std::vector<Window>{{0, 4, 3}, {2, 4, 2}, {4, 4, 2}, {6, 4, 2}}));
  // The last window ends with the text.
  EXPECT_EQ(windows(9, 4, 2), (std::vector<Window>{{0, 4, 3}, {2, 4, 2}, {4, 4, 2}, {6, 3, 1}}));
  EXPECT_EQ(windows(5, 4, 1), (std::vector<Window>{{0, 4, 3}, {1, 4, 1}}));
}

TEST(PerplexityWindows, OverlappingWindowsCountEveryTokenButTheFirst) {
  for (std::int64_t stride = 1; stride < 7; ++stride) {
    std::int64_t counted = 0;
    for (const PerplexityWindow& window : perplexity_windows(50, 7, stride)) {
      counted += window.predicted;
    }
    EXPECT_EQ(counted, 49) << stride;
  }
}

TEST(TokenScores, AreSoftmaxInFloat64) {
  const std::vector<float> logits = {1, 3, -2, 3};
  const double sum = std::exp(1.0) + 2 * std::exp(3.0) + std::exp(-2.0);
  EXPECT_NEAR(log_sum_exp(logits, test::test_compute()), std::log(sum), 1e-15);
  const auto top = top_tokens(logits, 3, test::test_compute());
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].token, 1);  // the smaller id of equal ones
  EXPECT_EQ(top[1].token, 3);
  EXPECT_EQ(top[2].token, 0);
  EXPECT_NEAR(top[0].probability, std::exp(3.0) / sum, 1e-15);
  EXPECT_EQ(top_tokens(logits, 9, test::test_compute()).size(), 4u);
}

TEST(TokenScores, DoNotOverflow) {
  const std::vector<float> logits = {3e38F, -3e38F};
  EXPECT_EQ(log_sum_exp(logits, test::test_compute()), static_cast<double>(3e38F));
  EXPECT_EQ(top_tokens(logits, 2, test::test_compute())[1].probability, 0);
}

}  // namespace
}  // namespace attnscope
