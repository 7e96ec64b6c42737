#include "attnscope/numerics/inference/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/numerics/inference/attention_heads.h"

namespace attnscope {
namespace {

using namespace test;

TEST(AttendOneHead, EqualsTheDefinitionForEveryShapeMaskAndSoftcap) {
  const struct {
    std::int64_t tokens, depth, value_columns;
  } shapes[] = {{1, 64, 64},   {2, 3, 5},      {7, 1, 1},      {16, 16, 17},
                {47, 8, 80},   {48, 64, 33},   {49, 80, 48},   {97, 128, 96},
                {100, 64, 64}, {145, 20, 128}, {200, 64, 256}, {290, 256, 65}};
  for (const auto& [tokens, depth, value_columns] : shapes) {
    const Head head = gaussian_head(tokens, depth, value_columns);
    for (const AttentionMask& mask : masks()) {
      for (const float cap : {0.0F, 1.5F}) {
        const AttentionRule rule{
            .scale = 1 / std::sqrt(static_cast<float>(depth)), .soft_cap = cap, .mask = mask};
        SCOPED_TRACE(described(head, rule));
        // Scores of a few units have an error of a few float32 roundings.
        expect_attention(head, rule, 5e-7);
      }
    }
  }
}

TEST(AttendOneHead, EqualsTheDefinitionWithBiasesAndSinks) {
  for (const std::int64_t tokens : {1, 5, 48, 50, 97, 290}) {
    const Head head = gaussian_head(tokens, 20, 24);
    const Biases biases(tokens);
    for (const AttentionMask& mask : masks()) {
      for (const MatrixView<const float>& bias : biases.of(0, tokens)) {
        for (const std::optional<float> sink : {std::optional<float>(), {-1.5F}, {0.25F}, {40}}) {
          const float cap = tokens == 97 ? 1.5F : 0;
          const AttentionRule rule{
              .scale = 0.25F, .soft_cap = cap, .mask = mask, .bias = bias, .sink = sink};
          SCOPED_TRACE(described(head, rule) + ", sink " + std::to_string(sink.value_or(0)) +
                       ", bias's rows apart " + std::to_string(bias.row_stride));
          expect_attention(head, rule, 5e-7);
        }
      }
    }
  }
}

TEST(AttendOneHead, LearnedSinksTakeTheirShareOfEachQuery) {
  const Head head = gaussian_head(60, 16, 8);
  AttentionScratch scratch;
  const auto sum_of_last = [&](std::optional<float> sink) {
    // Equal scores of 60 keys: the sink's weight is e^s / (e^s + 60).
    const Results got = attended(head, {.scale = 0, .sink = sink}, scratch);
    double sum = 0;
    for (std::int64_t key = 1; key <= 60; ++key) sum += static_cast<double>(got.maps(59, key));
    return sum;
  };
  EXPECT_NEAR(sum_of_last(std::nullopt), 1, 1e-6);
  EXPECT_NEAR(sum_of_last(0.0F), 60.0 / 61, 1e-6);
  EXPECT_NEAR(sum_of_last(std::log(60.0F)), 0.5, 1e-6);
  EXPECT_NEAR(sum_of_last(-std::numeric_limits<float>::infinity()), 1, 1e-6);
  EXPECT_NEAR(sum_of_last(200.0F), 0, 1e-30);
}

TEST(AttendOneHead, EqualsTheDefinitionForLongSequences) {
  const Head head = gaussian_head(1100, 32, 32);
  for (const AttentionMask& mask :
       {AttentionMask::causal(), AttentionMask::causal(333), AttentionMask::bidirectional(100)}) {
    const AttentionRule rule{.scale = 0.25F, .mask = mask};
    SCOPED_TRACE(described(head, rule));
    expect_attention(head, rule, 1e-6);
  }
}

// Large maps are written with non-temporal stores, which depend on 64-byte boundaries.
TEST(AttendOneHead, LargeMapsDoNotDependOnTheirAlignment) {
  constexpr std::int64_t kTokens = 1608;  // rows of 16 elements and half of that
  const Head head = gaussian_head(kTokens, 16, 8);
  for (const AttentionMask& mask : {AttentionMask::causal(), AttentionMask::causal(300)}) {
    const AttentionRule rule{.scale = 0.25F, .mask = mask};
    AttentionScratch scratch;
    const Results elsewhere = attended(head, rule, scratch);
    AlignedBuffer<float> memory;
    const MatrixView<float> maps{memory.reserve(kTokens * (kTokens + 8)), kTokens, kTokens,
                                 kTokens + 8};
    Matrix<float> out(kTokens, 8);
    attend(head.q_view(), head.k_view(), head.v_view(), rule, maps, out.view(), scratch,
           test_compute());
    for (std::int64_t row = 0; row < kTokens; ++row) {
      ASSERT_EQ(std::memcmp(&maps(row, 0), &elsewhere.maps(row, 1), kTokens * sizeof(float)), 0)
          << row;
    }
  }
}

TEST(AttendOneHead, WindowsCountKeysAsTransformersDoes) {
  const AttentionMask causal = AttentionMask::causal(4);  // query − 4 < key ≤ query
  EXPECT_EQ(causal.first_key(10), 7);
  EXPECT_EQ(causal.end_key(10, 20), 11);
  EXPECT_EQ(causal.first_key(2), 0);
  const AttentionMask both = AttentionMask::bidirectional(2);  // |query − key| ≤ 2
  EXPECT_EQ(both.first_key(10), 8);
  EXPECT_EQ(both.end_key(10, 20), 13);
  EXPECT_EQ(both.end_key(19, 20), 20);
  EXPECT_EQ(AttentionMask::bidirectional().first_key(19), 0);
  EXPECT_EQ(AttentionMask::bidirectional().end_key(0, 20), 20);
  const AttentionMask chunks{.chunk = 8};  // query / 8 = key / 8, key ≤ query
  EXPECT_EQ(chunks.first_key(7), 0);
  EXPECT_EQ(chunks.first_key(8), 8);
  EXPECT_EQ(chunks.end_key(13, 20), 14);
  const AttentionMask bidirectional{.keys_after = AttentionMask::kAll, .chunk = 8};
  EXPECT_EQ(bidirectional.end_key(3, 20), 8);
  EXPECT_EQ(bidirectional.end_key(17, 20), 20);
}

// Integers, so that scores are exact and only the softmax has rounding errors.
TEST(AttendOneHead, SupportsHugeAndEqualScores) {
  constexpr std::int64_t kTokens = 120, kDepth = 8;
  const auto integers = [](int limit, std::uint64_t seed) {
    return converted<float>(integer_matrix(kTokens, kDepth + 7, limit, seed));
  };
  for (const int limit : {0, 1, 40}) {  // 40: scores up to ±1e4
    const Head head{.tokens = kTokens,
                    .depth = kDepth,
                    .value_columns = kDepth,
                    .q = integers(limit, 1),
                    .k = integers(limit, 2),
                    .v = integers(5, 3)};
    for (const float cap : {0.0F, 50.0F}) {
      const AttentionRule rule{.soft_cap = cap, .mask = AttentionMask::bidirectional()};
      SCOPED_TRACE(described(head, rule));
      // A softcapped score near 50 has a rounding error of 4e-6.
      expect_attention(head, rule, cap > 0 ? 5e-6 : 5e-7);
    }
  }
}

}  // namespace
}  // namespace attnscope
