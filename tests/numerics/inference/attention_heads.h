// Small attention heads, and their expected results by definition.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/numerics/inference/attention.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope::test {

/// One head of a sequence, stored inside wider rows as in the engine.
struct Head {
  std::int64_t tokens, depth, value_columns;
  Matrix<float> q, k, v;
  MatrixView<const float> q_view() const { return q.view().col_block(1, depth); }
  MatrixView<const float> k_view() const { return k.view().col_block(2, depth); }
  MatrixView<const float> v_view() const { return v.view().col_block(3, value_columns); }
};

inline Head gaussian_head(std::int64_t tokens, std::int64_t depth, std::int64_t value_columns) {
  const auto seed = static_cast<std::uint64_t>(tokens * 1000 + depth);
  return {.tokens = tokens,
          .depth = depth,
          .value_columns = value_columns,
          .q = converted<float>(gaussian_matrix(tokens, depth + 5, seed)),
          .k = converted<float>(gaussian_matrix(tokens, depth + 4, seed + 1)),
          .v = converted<float>(gaussian_matrix(tokens, value_columns + 7, seed + 2))};
}

inline bool sees(const AttentionMask& mask, std::int64_t query, std::int64_t key) {
  if (key / mask.chunk != query / mask.chunk) return false;
  return key <= query ? query - key <= mask.keys_before : key - query <= mask.keys_after;
}

struct Attended {
  Matrix<double> maps, out;
};

/// The definition in float64.
inline Attended expected(const Head& head, const AttentionRule& rule) {
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

inline constexpr float kUntouched = 12345;

/// Outputs of attend() in the middle of wider matrices, whose other elements must not change.
struct Results {
  Matrix<float> maps, out;
};

inline Results attended(const Head& head, const AttentionRule& rule, AttentionScratch& scratch,
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

inline void expect_untouched_around(const Matrix<float>& matrix) {
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    for (const std::int64_t col : {std::int64_t{0}, matrix.cols() - 1}) {
      EXPECT_EQ(matrix(row, col), kUntouched) << row;
    }
  }
  for (std::int64_t col = 0; col < matrix.cols(); ++col) {
    EXPECT_EQ(matrix(matrix.rows() - 1, col), kUntouched);
  }
}

inline void expect_attention(const Head& head, const AttentionRule& rule, double tolerance) {
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

inline std::vector<AttentionMask> masks() {
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

inline std::string described(const Head& head, const AttentionRule& rule) {
  const auto number = [](std::int64_t count) {
    return count == AttentionMask::kAll ? "all" : std::to_string(count);
  };
  return "T " + std::to_string(head.tokens) + " d " + std::to_string(head.depth) + " d_v " +
         std::to_string(head.value_columns) + ", keys before " + number(rule.mask.keys_before) +
         ", after " + number(rule.mask.keys_after) + ", chunk " + number(rule.mask.chunk) +
         ", cap " + std::to_string(rule.soft_cap);
}

/// Biases for the scores of a head's queries.
struct Biases {
  Matrix<float> of_pairs, of_distances, of_keys;

  explicit Biases(std::int64_t tokens)
      : of_pairs(converted<float>(gaussian_matrix(tokens, tokens, 11))),
        of_distances(converted<float>(gaussian_matrix(1, 2 * tokens - 1, 12))),
        of_keys(converted<float>(gaussian_matrix(1, tokens, 13))) {}

  /// For queries first … first + count − 1: a bias per pair, by distance, per key, and none.
  std::vector<MatrixView<const float>> of(std::int64_t first, std::int64_t count) const {
    const std::int64_t tokens = of_keys.cols();
    return {of_pairs.view().row_block(first, count),
            bias_by_distance(of_distances.data() + tokens - 1, first, count, tokens),
            {of_keys.data(), count, tokens, /*row_stride=*/0},
            {}};
  }
};

}  // namespace attnscope::test
