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

#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

/// One head of a sequence, cut out of wider rows as the engine cuts heads.
struct Head {
  std::int64_t tokens, depth, value_columns;
  Matrix<float> q, k, v;
  MatrixView<const float> q_view() const { return q.view().col_block(1, depth); }
  MatrixView<const float> k_view() const { return k.view().col_block(2, depth); }
  MatrixView<const float> v_view() const { return v.view().col_block(3, value_columns); }
};

Head gaussian_head(std::int64_t tokens, std::int64_t depth, std::int64_t value_columns) {
  const auto seed = static_cast<std::uint64_t>(tokens * 1000 + depth);
  return {.tokens = tokens,
          .depth = depth,
          .value_columns = value_columns,
          .q = converted<float>(gaussian_matrix(tokens, depth + 5, seed)),
          .k = converted<float>(gaussian_matrix(tokens, depth + 4, seed + 1)),
          .v = converted<float>(gaussian_matrix(tokens, value_columns + 7, seed + 2))};
}

bool sees(const AttentionMask& mask, std::int64_t query, std::int64_t key) {
  if (key / mask.chunk != query / mask.chunk) return false;
  return key <= query ? query - key <= mask.keys_before : key - query <= mask.keys_after;
}

struct Attended {
  Matrix<double> maps, out;
};

/// By the definition, in float64.
Attended expected(const Head& head, const AttentionRule& rule) {
  Attended got{zero_matrix(head.tokens, head.tokens), zero_matrix(head.tokens, head.value_columns)};
  for (std::int64_t query = 0; query < head.tokens; ++query) {
    std::vector<double> scores(static_cast<std::size_t>(head.tokens),
                               -std::numeric_limits<double>::infinity());
    for (std::int64_t key = 0; key < head.tokens; ++key) {
      if (!sees(rule.mask, query, key)) continue;
      double score = 0;
      for (std::int64_t at = 0; at < head.depth; ++at) {
        score += static_cast<double>(head.q_view()(query, at)) *
                 static_cast<double>(head.k_view()(key, at));
      }
      score *= static_cast<double>(rule.scale);
      const auto cap = static_cast<double>(rule.soft_cap);
      if (cap > 0) score = cap * std::tanh(score / cap);
      if (rule.bias.data != nullptr) score += static_cast<double>(rule.bias(query, key));
      scores[static_cast<std::size_t>(key)] = score;
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - largest);
    if (rule.sink) sum += std::exp(static_cast<double>(*rule.sink) - largest);
    for (std::int64_t key = 0; key < head.tokens; ++key) {
      const double weight = scores[static_cast<std::size_t>(key)] / sum;
      got.maps(query, key) = weight;
      for (std::int64_t column = 0; column < head.value_columns; ++column) {
        got.out(query, column) += weight * static_cast<double>(head.v_view()(key, column));
      }
    }
  }
  return got;
}

constexpr float kUntouched = 12345;

/// What attend() writes, into the middle of wider matrices, whose other elements must stay.
struct Results {
  Matrix<float> maps, out;
};

Results attended(const Head& head, const AttentionRule& rule, AttentionScratch& scratch,
                 bool with_maps = true) {
  Results got{Matrix<float>(head.tokens + 1, head.tokens + 2),
              Matrix<float>(head.tokens + 1, head.value_columns + 2)};
  std::fill_n(got.maps.data(), got.maps.rows() * got.maps.cols(), kUntouched);
  std::fill_n(got.out.data(), got.out.rows() * got.out.cols(), kUntouched);
  const MatrixView<float> maps = got.maps.view().block(0, head.tokens, 1, head.tokens);
  attend(head.q_view(), head.k_view(), head.v_view(), rule, with_maps ? maps : MatrixView<float>{},
         got.out.view().block(0, head.tokens, 1, head.value_columns), scratch, test_compute());
  return got;
}

void expect_untouched_around(const Matrix<float>& matrix) {
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (const std::int64_t col : {std::int64_t{0}, matrix.cols() - 1}) {
      EXPECT_EQ(matrix(row, col), kUntouched) << row;
    }
  }
  for (std::int64_t col = 0; col < matrix.cols(); ++col) {
    EXPECT_EQ(matrix(matrix.rows() - 1, col), kUntouched);
  }
}

void expect_attention(const Head& head, const AttentionRule& rule, double tolerance) {
  AttentionScratch scratch;
  const Results got = attended(head, rule, scratch);
  const Attended wanted = expected(head, rule);
  expect_untouched_around(got.maps);
  expect_untouched_around(got.out);
  double map_error = 0, out_error = 0, sum_error = 0;
  std::int64_t masked_weights = 0;
  for (std::int64_t query = 0; query < head.tokens; ++query) {
    double sum = 0, wanted_sum = 0;
    for (std::int64_t key = 0; key < head.tokens; ++key) {
      const auto weight = static_cast<double>(got.maps(query, key + 1));
      sum += weight;
      wanted_sum += wanted.maps(query, key);
      map_error = std::max(map_error, std::abs(weight - wanted.maps(query, key)));
      if (!sees(rule.mask, query, key) && weight != 0) ++masked_weights;
    }
    sum_error = std::max(sum_error, std::abs(sum - wanted_sum));
    for (std::int64_t column = 0; column < head.value_columns; ++column) {
      out_error = std::max(out_error, std::abs(static_cast<double>(got.out(query, column + 1)) -
                                               wanted.out(query, column)));
    }
  }
  EXPECT_EQ(masked_weights, 0);
  EXPECT_LT(map_error, tolerance);
  EXPECT_LT(sum_error, 5e-7);
  EXPECT_LT(out_error, 5 * tolerance);  // values up to 5
}

std::vector<AttentionMask> masks() {
  return {AttentionMask::causal(),
          AttentionMask::causal(1),
          AttentionMask::causal(7),
          AttentionMask::causal(64),
          AttentionMask::bidirectional(),
          AttentionMask::bidirectional(0),
          AttentionMask::bidirectional(4),
          AttentionMask{.keys_before = 0, .keys_after = 50},
          AttentionMask{.chunk = 1},
          AttentionMask{.chunk = 7},
          AttentionMask{.chunk = 64},
          AttentionMask{.keys_before = 20, .chunk = 50},
          AttentionMask{.keys_after = AttentionMask::kAll, .chunk = 33}};
}

std::string described(const Head& head, const AttentionRule& rule) {
  const auto number = [](std::int64_t count) {
    return count == AttentionMask::kAll ? "all" : std::to_string(count);
  };
  return "T " + std::to_string(head.tokens) + " d " + std::to_string(head.depth) + " d_v " +
         std::to_string(head.value_columns) + ", keys before " + number(rule.mask.keys_before) +
         ", after " + number(rule.mask.keys_after) + ", chunk " + number(rule.mask.chunk) +
         ", cap " + std::to_string(rule.soft_cap);
}

TEST(AttendOneHead, EqualsTheDefinitionForEveryShapeMaskAndCap) {
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
        // Scores of a few units are off by a few roundings of float32.
        expect_attention(head, rule, 5e-7);
      }
    }
  }
}

/// What may be added to the scores of a head's queries.
struct Biases {
  Matrix<float> of_pairs, of_distances, of_keys;

  explicit Biases(std::int64_t tokens)
      : of_pairs(converted<float>(gaussian_matrix(tokens, tokens, 11))),
        of_distances(converted<float>(gaussian_matrix(1, 2 * tokens - 1, 12))),
        of_keys(converted<float>(gaussian_matrix(1, tokens, 13))) {}

  /// Of queries first … first + count − 1: of every pair, by distance, of every key, none.
  std::vector<MatrixView<const float>> of(std::int64_t first, std::int64_t count) const {
    const std::int64_t tokens = of_keys.cols();
    return {of_pairs.view().row_block(first, count),
            bias_by_distance(of_distances.data() + tokens - 1, first, count, tokens),
            {of_keys.data(), count, tokens, /*row_stride=*/0},
            {}};
  }
};

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

TEST(AttendOneHead, SinksTakeTheirPartOfEachQuery) {
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

// Such maps are written past the caches, where they lie at boundaries of 64 bytes.
TEST(AttendOneHead, LargeMapsAreTheSameWhereverTheyLie) {
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
  const AttentionMask both_ways{.keys_after = AttentionMask::kAll, .chunk = 8};
  EXPECT_EQ(both_ways.end_key(3, 20), 8);
  EXPECT_EQ(both_ways.end_key(17, 20), 20);
}

// Integers, so that scores are exact: what is left is the softmax.
TEST(AttendOneHead, HoldsForHugeScoresAndScoresThatAreAllEqual) {
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
      // A capped score near 50 is rounded by 4e-6.
      expect_attention(head, rule, cap > 0 ? 5e-6 : 5e-7);
    }
  }
}

bool same_bytes(const Matrix<float>& a, const Matrix<float>& b) {
  return std::memcmp(a.data(), b.data(),
                     sizeof(float) * static_cast<std::size_t>(a.rows() * a.cols())) == 0;
}

TEST(AttendOneHead, GivesTheSameBytesWhateverItsMemoryWasUsedFor) {
  const Head head = gaussian_head(130, 20, 24), larger = gaussian_head(300, 70, 90);
  for (const AttentionMask& mask : masks()) {
    const AttentionRule rule{.scale = 0.2F, .mask = mask};
    AttentionScratch fresh, used;
    // Infinite scores and NaN stay in the memory.
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

// A cache of keys and values is made so: some tokens at a time.
TEST(AttendOneHead, LastQueriesHaveTheBytesThatTheyHaveAmongAll) {
  const Head head = gaussian_head(330, 20, 70);
  const Biases biases(head.tokens);
  const Compute compute = test_compute();
  std::size_t kind = 0;  // of bias; each mask has another
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

TEST(AttendOneHead, AQueryWithNaNHasOnlyNaNWeightsAndNoOtherHasAny) {
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

TEST(AttendOneHead, StopsWhereItIsToldTo) {
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
