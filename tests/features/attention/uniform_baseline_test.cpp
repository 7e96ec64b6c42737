// Uniform baselines, compared with the measures of the corresponding uniform attention map.
#include "attnscope/features/attention/uniform_baseline.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/compute.h"

namespace attnscope {
namespace {

/// The uniform map, weight by weight.
Matrix<float> uniform_map_of(std::int64_t tokens, const AttentionMask& mask) {
  Matrix<float> map(tokens, tokens);
  for (std::int64_t query = 0; query < tokens; ++query) {
    const std::int64_t first = mask.first_key(query), end = mask.end_key(query, tokens);
    for (std::int64_t key = 0; key < tokens; ++key) {
      map(query, key) = key < first || key >= end ? 0 : 1 / static_cast<float>(end - first);
    }
  }
  return map;
}

struct Case {
  const char* name;
  AttentionMask mask;
  bool causal;
};

class UniformAttentionOf : public testing::TestWithParam<Case> {};

TEST_P(UniformAttentionOf, EqualsTheMeasuresOfTheUniformMap) {
  const auto& [name, mask, causal] = GetParam();
  for (const std::int64_t tokens : {1, 2, 3, 8, 20, 50}) {
    SCOPED_TRACE(tokens);
    const UniformAttention uniform = {.tokens = tokens, .mask = mask};
    const Matrix<float> map = uniform_map_of(tokens, mask);
    for (const bool exclude_first_token : {false, true}) {
      for (const double energy : {0.5, 0.9}) {
        const std::vector<MatrixView<const float>> views = {map.view()};
        const AttentionMapMeasures wanted =
            measure_attention_maps(
                views,
                {.energy = energy, .exclude_first_token = exclude_first_token, .causal = causal},
                test::test_compute())
                .front();
        EXPECT_NEAR(sink_mass(uniform).value(), wanted.value("sink_mass").value(), 1e-7);
        EXPECT_EQ(previous_token(uniform).has_value(), wanted.value("previous_token").has_value());
        EXPECT_NEAR(previous_token(uniform).value_or(0), wanted.value("previous_token").value_or(0),
                    1e-7);
        EXPECT_EQ(columns(uniform, energy, exclude_first_token), wanted.value("energy_columns"))
            << energy << exclude_first_token;
      }
    }
    const std::int64_t block = tokens / 2;
    if (tokens % 2 != 0) continue;
    EXPECT_NEAR(repeated_token(uniform, block, block - 1).value(),
                induction_score(map.view(), block).value(), 1e-7);
    EXPECT_NEAR(repeated_token(uniform, block, block).value(),
                duplicate_token_score(map.view(), block).value(), 1e-7);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Masks, UniformAttentionOf,
    testing::Values(Case{"causal", AttentionMask::causal(), true},
                    Case{"causal_window", AttentionMask::causal(10), true},
                    Case{"causal_window_of_one", AttentionMask::causal(1), true},
                    Case{"two_sided", AttentionMask::bidirectional(), false},
                    Case{"chunks", AttentionMask{.chunk = 7}, true},
                    Case{"chunked_window", AttentionMask{.keys_before = 3, .chunk = 8}, true},
                    Case{"bidiagonal_window", AttentionMask::bidirectional(3), false}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(UniformAttention, EncodersAttendEquallyToEveryToken) {
  const UniformAttention uniform = {.tokens = 100, .mask = AttentionMask::bidirectional()};
  EXPECT_DOUBLE_EQ(repeated_token(uniform, 50, 49).value(), 0.01);
  EXPECT_DOUBLE_EQ(sink_mass(uniform).value(), 0.01);
  EXPECT_EQ(columns(uniform, 0.9, false), 90);
}

TEST(UniformAttention, IgnoresKeysOutsideTheWindow) {
  const UniformAttention uniform = {.tokens = 40, .mask = AttentionMask::causal(20)};
  EXPECT_DOUBLE_EQ(repeated_token(uniform, 20, 19).value(), 1.0 / 20);
  EXPECT_EQ(repeated_token(uniform, 20, 20).value(), 0);
}

TEST(UniformAttention, HasNoScoreWithoutASecondBlock) {
  EXPECT_FALSE(repeated_token({.tokens = 4, .mask = {}}, 0, -1));
  EXPECT_FALSE(repeated_token({.tokens = 4, .mask = {}}, 4, 3));
}

TEST(UniformAttention, CrossAttentionIncludesEveryKey) {
  const UniformAttention uniform = {
      .tokens = 20, .mask = AttentionMask::bidirectional(), .queries = 3};
  EXPECT_DOUBLE_EQ(sink_mass(uniform).value(), 0.05);
  EXPECT_EQ(columns(uniform, 0.9, false), 18);
  EXPECT_EQ(columns(uniform, 0.9, true), 18);  // of 19
  EXPECT_FALSE(previous_token(uniform));
}

/// A window of 2 × 2 places whose last place is padding, in two regions.
TEST(UniformAttentionInWindows, StaysInTheRegionOfAQuery) {
  const UniformAttention uniform = {.tokens = 3,
                                    .mask = AttentionMask::bidirectional(),
                                    .grid = PatchGrid{.rows = 3, .cols = 1},
                                    .regions = {0, 0, 1, 1}};
  EXPECT_EQ(uniform.weight(0, 1), 0.5);
  EXPECT_EQ(uniform.weight(0, 2), 0);
  EXPECT_EQ(uniform.weight(2, 2), 0.5);
  EXPECT_DOUBLE_EQ(sink_mass(uniform).value(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(previous_token(uniform).value(), 0.25);
  EXPECT_DOUBLE_EQ(patch_distance(uniform).value(), 1.0 / 3);
  EXPECT_EQ(columns(uniform, 0.9, false), 3);
  EXPECT_EQ(columns(uniform, 0.5, false), 2);
}

}  // namespace
}  // namespace attnscope
