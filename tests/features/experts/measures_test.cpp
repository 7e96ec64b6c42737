// Similarity of experts and routing counts, computed by hand.
#include "attnscope/features/experts/measures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace attnscope {
namespace {

MatrixView<const double> view_of(const std::vector<double>& values, std::int64_t rows) {
  const std::int64_t cols = std::ssize(values) / rows;
  return {values.data(), rows, cols, cols, 1};
}

TEST(ExpertSpace, IsOneForReorderedAndRescaledNeurons) {
  const std::vector<double> stacked = {1, 2, 0,  0, 0, 3,   // one expert
                                       0, 0, -6, 2, 4, 0};  // its neurons in reverse order
  const PairSimilarity pairs = block_similarity(view_of(stacked, 4), 2, {});
  EXPECT_NEAR(pairs.mean, 1, 1e-15);
  EXPECT_EQ(pairs.least, pairs.most);
}

TEST(ExpertSpace, IsZeroForExpertsWithDisjointInputs) {
  const std::vector<double> stacked = {1, 2, 0, 0, 3, 1, 0, 0,   // reads the first half
                                       0, 0, 1, 1, 0, 0, 2, 5};  // reads the second half
  EXPECT_EQ(block_similarity(view_of(stacked, 4), 2, {}).most, 0);
}

TEST(ExpertSpace, EqualsTheExpectationForGaussianExperts) {
  constexpr std::int64_t kRows = 40, kWidth = 60, kExperts = 6;
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal;
  std::vector<double> stacked(kRows * kWidth * kExperts);
  for (double& value : stacked) value = normal(generator);
  const PairSimilarity pairs = block_similarity(view_of(stacked, kRows * kExperts), kExperts, {});
  // The ratio of expectations equals the expected ratio up to O(1 / (rows · hidden size)).
  EXPECT_NEAR(pairs.mean, expected_block_similarity(kRows, kWidth), 0.01);
  EXPECT_LT(pairs.least, pairs.mean);
  EXPECT_LT(pairs.mean, pairs.most);
}

TEST(ExpertSpace, ComputesCosinesOfRows) {
  const PairSimilarity pairs = row_cosines(view_of({1, 0, -2, 0, 0, 5}, 3));
  EXPECT_EQ(pairs.least, -1);
  EXPECT_EQ(pairs.most, 0);
  EXPECT_NEAR(pairs.mean, -1.0 / 3, 1e-15);
}

TEST(Routing, CountsTokensPerExpert) {
  // Four tokens, three experts, two experts per token.
  const std::vector<float> logits(12, 1.0F);
  const std::vector<std::int64_t> chosen = {0, 1, 1, 0, 0, 2, 0, 1};
  const std::vector<float> weights = {0.5F, 0.25F, 0.5F, 0.25F, 1, 0, 0, 1};
  const std::vector<std::uint8_t> tied = {0, 1, 1, 1};
  const RoutingCounts half = count_routing({logits.data(), 2, 3, 3, 1}, std::span(chosen).first(4),
                                           std::span(weights).first(4), std::span(tied).first(2));
  RoutingCounts counts;
  counts.add(half);
  counts.add(count_routing({logits.data(), 2, 3, 3, 1}, std::span(chosen).last(4),
                           std::span(weights).last(4), std::span(tied).last(2)));
  EXPECT_EQ(counts.ties, 3);
  const RoutingMeasures measures = measure_routing(counts);
  EXPECT_EQ(measures.load, (std::vector<double>{0.5, 0.375, 0.125}));
  EXPECT_EQ(measures.largest_load, 0.5);
  EXPECT_NEAR(std::log(measures.effective_experts),
              -0.5 * std::log(0.5) - 0.375 * std::log(0.375) - 0.125 * std::log(0.125), 1e-15);
  EXPECT_NEAR(measures.router_entropy, std::log(3.0), 1e-12);
  EXPECT_EQ(measures.mean_weights, (std::vector<double>{0.5, 0.375}));
  EXPECT_EQ(measures.top_pair, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(measures.top_pair_lift, 0.75 / (1.0 * 0.75));
  EXPECT_EQ(measures.together, (std::vector<double>{1, 0.75, 0.25, 0.75, 0.75, 0, 0.25, 0, 0.25}));
}

TEST(Routing, OneExpertHasNoPair) {
  const std::vector<float> logits = {0, 1};
  const std::vector<std::int64_t> chosen = {1};
  const std::vector<float> weights = {0.7F};
  const RoutingMeasures measures =
      measure_routing(count_routing({logits.data(), 1, 2, 2, 1}, chosen, weights, {}));
  EXPECT_FALSE(measures.top_pair);
  EXPECT_EQ(measures.effective_experts, 1);
}

}  // namespace
}  // namespace attnscope
