// Routing by hand: selected experts and their weights.
#include "attnscope/forward/router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace attnscope {
namespace {

ChosenExperts route(const ExpertSpec& spec, std::vector<float> logits,
                    const std::vector<float>& bias = {}) {
  const auto experts = std::ssize(logits);
  return choose_experts(spec, {logits.data(), 1, experts, experts, 1}, bias, {});
}

using Numbers = std::vector<std::int64_t>;

TEST(Router, SelectsTheLargestAndTheFirstOfEqualOnes) {
  EXPECT_EQ(route({.chosen = 3}, {1, 3, 2, 3}).experts, (Numbers{1, 3, 2}));
}

TEST(Router, ReportsTies) {
  using Tied = std::vector<std::uint8_t>;
  // A tie of experts that are not selected.
  EXPECT_EQ(route({.chosen = 2}, {3, 1, 2, 1}).tied, (Tied{0}));
  EXPECT_EQ(route({.chosen = 2}, {2, 2, 1, 0}).tied, (Tied{0}));  // a tie of selected experts
  EXPECT_EQ(route({.chosen = 2}, {3, 2, 1, 2}).tied, (Tied{1}));
  EXPECT_EQ(
      route({.chosen = 2, .score = RouterScore::sparsemixer, .jitter = 0.01}, {3, 2, 1, 2}).tied,
      (Tied{1}));
  const ExpertSpec grouped{.chosen = 1, .groups = 2, .kept_mlp_groups = 1};
  EXPECT_EQ(route(grouped, {4, 1, 4, 2}).tied, (Tied{1}));
  EXPECT_EQ(route(grouped, {4, 1, 3, 2}).tied, (Tied{0}));
}

TEST(Router, NormalizesOverAllOrOverSelectedExperts) {
  const std::vector<float> logits = {0, std::log(3.0F), std::log(4.0F)};
  const ChosenExperts all = route({.chosen = 2, .score = RouterScore::softmax}, logits);
  EXPECT_FLOAT_EQ(all.weights[0], 0.5F);
  EXPECT_FLOAT_EQ(all.weights[1], 0.375F);
  const ChosenExperts own = route({.chosen = 2, .score = RouterScore::softmax_of_chosen}, logits);
  EXPECT_FLOAT_EQ(own.weights[0], 4.0F / 7);
  const ChosenExperts each = route({.chosen = 1, .score = RouterScore::sigmoid_of_chosen}, logits);
  EXPECT_FLOAT_EQ(each.weights[0], 0.8F);
}

TEST(Router, ABiasAffectsTheSelectionButNotTheWeights) {
  const ChosenExperts got =
      route({.chosen = 1, .score = RouterScore::sigmoid}, {0, 5, 0}, {2, 0, 0});
  EXPECT_EQ(got.experts, (Numbers{0}));
  EXPECT_FLOAT_EQ(got.weights[0], 0.5F);
}

TEST(Router, RanksGroupsByTheirBestOrTwoBestExperts) {
  const std::vector<float> logits = {9, 0, 6, 5, 1, 1};
  ExpertSpec spec{.chosen = 2,
                  .score = RouterScore::softmax_of_chosen,
                  .groups = 3,
                  .kept_mlp_groups = 1,
                  .group_score = GroupScore::best};
  EXPECT_EQ(route(spec, logits).experts, (Numbers{0, 1}));
  spec.group_score = GroupScore::sum_of_two_best;
  EXPECT_EQ(route(spec, logits).experts, (Numbers{2, 3}));
}

TEST(Router, Normalizes) {
  const std::vector<float> logits = {0, 0};
  ExpertSpec spec{.chosen = 2, .score = RouterScore::sigmoid, .normalize = true, .times = 3};
  EXPECT_FLOAT_EQ(route(spec, logits).weights[0], 1.5F);
  spec.normalize_epsilon = 1;
  EXPECT_FLOAT_EQ(route(spec, logits).weights[0], 0.75F);
  spec.normalize_least = 4;
  EXPECT_FLOAT_EQ(route(spec, logits).weights[0], 0.375F);
}

TEST(Router, SparsemixerNormalizesOverNearExperts) {
  // (2 - 1.5) / 2 = 0.25 is near for a jitter of 0.2, but (2 - 1) / 2 is not.
  const ChosenExperts got =
      route({.chosen = 2, .score = RouterScore::sparsemixer, .jitter = 0.2}, {1.5F, 1, 2, -5});
  EXPECT_EQ(got.experts, (Numbers{2, 0}));
  EXPECT_FLOAT_EQ(got.weights[0], 1 / (1 + std::exp(-0.5F)));
  EXPECT_FLOAT_EQ(got.weights[1], 1 / (1 + std::exp(-0.5F)));
}

TEST(Router, NeverSelectsNan) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(route({.chosen = 1, .score = RouterScore::sigmoid}, {kNaN, -9, kNaN}).experts,
            (Numbers{1}));
}

}  // namespace
}  // namespace attnscope
