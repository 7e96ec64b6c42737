// Attention maps from another program: removal of padding, detection of the mask, and rejected
// maps.
#include "attnscope/features/attention/external_maps.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "tests/support/compute.h"

namespace attnscope {
namespace {

using test::test_compute;

/// 1 / n for each of the n keys that the mask allows.
std::vector<float> uniform_weights(std::int64_t tokens, const AttentionMask& mask) {
  std::vector<float> weights;
  for (std::int64_t query = 0; query < tokens; ++query) {
    const std::int64_t first = mask.first_key(query), end = mask.end_key(query, tokens);
    for (std::int64_t key = 0; key < tokens; ++key) {
      weights.push_back(key < first || key >= end ? 0 : 1 / static_cast<float>(end - first));
    }
  }
  return weights;
}

/// Maps of one sequence. The caller owns their memory.
UserMaps given(const std::vector<float>& weights, std::int64_t heads, std::int64_t queries,
               std::int64_t keys) {
  return {.name = "layer 3",
          .maps = {.dtype = DType::f32,
                   .shape = {1, heads, queries, keys},
                   .bytes = std::as_bytes(std::span(weights))}};
}

std::string refusal(const UserMaps& maps) {
  try {
    float_maps(maps, 0, 0, maps.heads(), test_compute());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numerical);
    return error.what();
  }
  return "";
}

TEST(UserMaps, DetectTheMaskFromTheWeights) {
  const std::int64_t tokens = 24;
  for (const AttentionMask& mask :
       {AttentionMask::causal(), AttentionMask::causal(5), AttentionMask{.chunk = 7},
        AttentionMask::bidirectional(), AttentionMask::bidirectional(4)}) {
    const std::vector<float> weights = uniform_weights(tokens, mask);
    const FloatMaps maps = float_maps(given(weights, 1, tokens, tokens), 0, 0, 1, test_compute());
    const AttentionMask shown = maps.seen.mask(tokens);
    for (std::int64_t query = 0; query < tokens; ++query) {
      EXPECT_EQ(shown.first_key(query), mask.first_key(query)) << query;
      EXPECT_EQ(shown.end_key(query, tokens), mask.end_key(query, tokens)) << query;
    }
  }
}

TEST(UserMaps, AreReadInPlaceWithPaddingAtAnEnd) {
  const std::vector<float> own = uniform_weights(3, AttentionMask::causal());
  std::vector<float> padded(std::size_t{25}, 0.2F);  // padding queries attend to every key
  for (std::int64_t query = 0; query < 3; ++query) {
    for (std::int64_t key = 0; key < 5; ++key) {
      const auto at = static_cast<std::size_t>((query + 2) * 5 + key);
      padded[at] = key < 2 ? 0 : own[static_cast<std::size_t>(query * 3 + key - 2)];
    }
  }
  UserMaps maps = given(padded, 1, 5, 5);
  maps.queries = maps.keys = {{2, 3, 4}};
  const FloatMaps cut = float_maps(maps, 0, 0, 1, test_compute());
  EXPECT_TRUE(cut.decoded.empty());
  EXPECT_EQ(cut.maps[0].data, padded.data() + 12);
  EXPECT_EQ(cut.seen.after, 0);
  for (std::int64_t query = 0; query < 3; ++query) {
    for (std::int64_t key = 0; key < 3; ++key) {
      EXPECT_EQ(cut.maps[0](query, key), own[static_cast<std::size_t>(query * 3 + key)]);
    }
  }
}

TEST(UserMaps, AreCopiedWithPaddingInTheMiddle) {
  const std::vector<float> weights = {0.5, 0, 0.5, 0, 0, 1, 0.25, 0, 0.75};
  UserMaps maps = given(weights, 1, 3, 3);
  maps.queries = maps.keys = {{0, 2}};
  const FloatMaps cut = float_maps(maps, 0, 0, 1, test_compute());
  ASSERT_EQ(cut.decoded.size(), 1U);
  EXPECT_EQ(cut.maps[0](0, 1), 0.5F);
  EXPECT_EQ(cut.maps[0](1, 0), 0.25F);
}

TEST(UserMaps, ConvertHalfPrecisionToFloat32) {
  // bfloat16 keeps the upper half of a float32.
  std::vector<std::uint16_t> weights;
  for (const float weight : {1.F, 0.F, 0.25F, 0.75F}) {
    weights.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(weight) >> 16));
  }
  const UserMaps maps = {
      .name = "layer 0",
      .maps = {
          .dtype = DType::bf16, .shape = {1, 1, 2, 2}, .bytes = std::as_bytes(std::span(weights))}};
  const FloatMaps cut = float_maps(maps, 0, 0, 1, test_compute());
  EXPECT_EQ(cut.maps[0](1, 0), 0.25F);
  EXPECT_EQ(cut.maps[0](1, 1), 0.75F);
}

TEST(UserMaps, RejectInvalidWeightsWithTheirPosition) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> holed = {1, 0, nan, 0}, negative = {1, 0, 1.5, -0.5},
                           scores = {1, 0, 3, 4}, half = {0.5, 0, 0.25, 0.25};
  EXPECT_EQ(refusal(given(holed, 1, 2, 2)),
            "maps of layer 3: sequence 0, head 0, query 1: holds NaN or Inf");
  EXPECT_NE(refusal(given(negative, 1, 2, 2)).find("query 1: has negative weights"),
            std::string::npos);
  EXPECT_NE(refusal(given(scores, 1, 2, 2)).find("query 1: the weights sum to 7, not to 1"),
            std::string::npos);
  EXPECT_NE(refusal(given(half, 1, 2, 2)).find("query 0: the weights sum to 0.5, not to 1"),
            std::string::npos);
  UserMaps with_sinks = given(half, 1, 2, 2);
  with_sinks.sinks = true;
  EXPECT_EQ(refusal(with_sinks), "");
}

TEST(UserMaps, GroupPaddedSequencesByLength) {
  const std::vector<float> two = uniform_weights(4, AttentionMask::causal());
  std::vector<float> weights(two);
  weights.insert(weights.end(), two.begin(), two.end());
  UserMaps maps = given(weights, 1, 4, 4);
  maps.maps.shape = {2, 1, 4, 4};
  maps.queries = maps.keys = {{0, 1, 2, 3}, {0, 1}};
  const std::vector<Outcome> outcomes = measure_user_maps(maps, {}, test_compute());
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(expect<std::int64_t>(outcomes[0].fields, "keys"), 4);
  EXPECT_EQ(expect<std::int64_t>(outcomes[1].fields, "keys"), 2);
  // Maps of uniform attention equal their uniform baseline.
  for (const Outcome& outcome : outcomes) {
    EXPECT_NEAR(expect_matrix<double>(outcome.fields, "sink_mass")(0, 0),
                expect<double>(outcome.fields, "uniform_sink_mass"), 1e-7);
  }
}

}  // namespace
}  // namespace attnscope
