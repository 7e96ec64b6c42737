// Attention gives the same bytes for any previous use of its memory and any other queries.
#include <cstring>
#include <random>
#include <stop_token>

#include "tests/numerics/inference/attention_heads.h"

namespace attnscope {
namespace {

using namespace test;

bool same_bytes(const Matrix<float>& a, const Matrix<float>& b) {
  return std::memcmp(a.data(), b.data(),
                     sizeof(float) * static_cast<std::size_t>(a.rows() * a.cols())) == 0;
}

TEST(AttendOneHead, GivesTheSameBytesForAnyPreviousUseOfItsMemory) {
  const Head head = gaussian_head(130, 20, 24), larger = gaussian_head(300, 70, 90);
  for (const AttentionMask& mask : masks()) {
    const AttentionRule rule{.scale = 0.2F, .mask = mask};
    AttentionScratch fresh, used;
    // Leaves infinite scores and NaN in the scratch memory.
    AttentionRule wild = rule;
    wild.scale = std::numeric_limits<float>::infinity();
    attended(larger, wild, used);
    const Results first = attended(head, rule, fresh), second = attended(head, rule, used);
    EXPECT_TRUE(same_bytes(first.maps, second.maps)) << described(head, rule);
    EXPECT_TRUE(same_bytes(first.out, second.out)) << described(head, rule);
    const Results without_maps = attended(head, rule, used, /*with_maps=*/false);
    EXPECT_TRUE(same_bytes(first.out, without_maps.out)) << described(head, rule);
    EXPECT_EQ(without_maps.maps(0, 1), kUntouched);
  }
}

// A KV cache is filled in this way: some tokens at a time.
TEST(AttendOneHead, LastQueriesHaveTheSameBytesAsInTheFullRun) {
  const Head head = gaussian_head(330, 20, 70);
  const Biases biases(head.tokens);
  const Compute compute = test_compute();
  std::size_t kind = 0;  // kind of bias; a different one for each mask
  for (const AttentionMask& mask : {AttentionMask::causal(), AttentionMask::causal(1),
                                    AttentionMask::causal(7), AttentionMask::causal(130)}) {
    AttentionRule rule{.scale = 0.2F, .soft_cap = 3, .mask = mask};
    rule.bias = biases.of(0, head.tokens)[kind];
    if (kind % 2 == 0) rule.sink = 0.5F;
    SCOPED_TRACE(described(head, rule));
    AttentionScratch scratch;
    const Results all = attended(head, rule, scratch);
    KeysAndValues put;
    put.reserve(head.tokens + 9, head.depth, head.value_columns);
    std::mt19937_64 random(1);
    std::int64_t tokens = 0;
    while (tokens < head.tokens) {
      const auto most = static_cast<std::int64_t>(random() % 3 == 0 ? random() % 130 : 2);
      const std::int64_t count = std::clamp<std::int64_t>(most, 1, head.tokens - tokens);
      put.put(tokens, head.k_view().row_block(tokens, count),
              head.v_view().row_block(tokens, count), compute.kernels);
      tokens += count;
      Matrix<float> maps(count, tokens), out(count, head.value_columns);
      rule.bias = biases.of(tokens - count, count)[kind];
      attend(head.q_view().row_block(tokens - count, count), put, tokens, rule, maps.view(),
             out.view(), scratch.scores, compute);
      for (std::int64_t row = 0; row < count; ++row) {
        const std::int64_t query = tokens - count + row;
        const auto bytes = [](std::int64_t floats) {
          return static_cast<std::size_t>(floats) * sizeof(float);
        };
        ASSERT_EQ(std::memcmp(&maps(row, 0), &all.maps(query, 1), bytes(tokens)), 0) << query;
        ASSERT_EQ(std::memcmp(&out(row, 0), &all.out(query, 1), bytes(head.value_columns)), 0)
            << query;
      }
    }
    ++kind;
  }
}

TEST(AttendOneHead, CountsTheMemoryOfKeysAndValuesWithoutOverflow) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_GE(*KeysAndValues::bytes(100, 8, 8), 100u * 16 * sizeof(float));
  EXPECT_FALSE(KeysAndValues::bytes(kMax, 8, 8));
  EXPECT_FALSE(KeysAndValues::bytes(8, kMax, kMax));
}

TEST(AttendOneHead, NanInAQueryAffectsOnlyItsOwnWeights) {
  Head head = gaussian_head(60, 16, 16);
  head.q(33, 4) = std::numeric_limits<float>::quiet_NaN();
  AttentionScratch scratch;
  const Results got = attended(head, {.scale = 0.25F}, scratch);
  for (std::int64_t query = 0; query < head.tokens; ++query) {
    for (std::int64_t key = 0; key <= query; ++key) {
      EXPECT_EQ(std::isnan(got.maps(query, key + 1)), query == 33) << query << ' ' << key;
    }
    EXPECT_EQ(std::isnan(got.out(query, 1)), query == 33) << query;
  }
}

TEST(AttendOneHead, StopsOnRequest) {
  const Head head = gaussian_head(300, 8, 8);
  std::stop_source stop;
  stop.request_stop();
  Matrix<float> out(300, 8);
  AttentionScratch scratch;
  EXPECT_THROW(attend(head.q_view(), head.k_view(), head.v_view(), {}, {}, out.view(), scratch,
                      test_compute(nullptr, stop.get_token())),
               Stopped);
}

}  // namespace
}  // namespace attnscope
