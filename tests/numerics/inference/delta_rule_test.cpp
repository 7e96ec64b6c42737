#include "attnscope/numerics/inference/delta_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/compute.h"

namespace attnscope {
namespace {

using namespace test;

/// Random tokens of one head: unit keys, decays below 1, step sizes from 0 to 1.
struct DrawnTokens {
  DrawnTokens(std::int64_t tokens, std::int64_t depth, std::int64_t columns)
      : queries(tokens, depth), keys(tokens, depth), values(tokens, columns) {
    std::mt19937 generator(11);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> share(0.1F, 0.99F);
    for (std::int64_t token = 0; token < tokens; ++token) {
      float squares = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        queries(token, k) = normal(generator);
        keys(token, k) = normal(generator);
        squares += keys(token, k) * keys(token, k);
      }
      for (std::int64_t k = 0; k < depth; ++k) keys(token, k) /= std::sqrt(squares);
      for (std::int64_t col = 0; col < columns; ++col) values(token, col) = normal(generator);
      decays.push_back(share(generator));
      steps.push_back(share(generator));
    }
  }

  DeltaRuleTokens part(std::int64_t first, std::int64_t count) const {
    const auto at = static_cast<std::size_t>(first), size = static_cast<std::size_t>(count);
    return {.queries = queries.view().row_block(first, count),
            .keys = keys.view().row_block(first, count),
            .values = values.view().row_block(first, count),
            .decays = std::span(decays).subspan(at, size),
            .steps = std::span(steps).subspan(at, size)};
  }

  Matrix<float> queries, keys, values;
  std::vector<float> decays, steps;
};

Matrix<float> zeros(std::int64_t rows, std::int64_t cols) {
  Matrix<float> out(rows, cols);
  std::fill_n(out.data(), rows * cols, 0.0F);
  return out;
}

/// Relative to the largest output: rounding of some hundred float32 steps.
constexpr double kDeltaTolerance = 5e-6;

/// The same tokens, with the decays of `decays` (tokens, depth).
ChannelDeltaRuleTokens by_channel(const DrawnTokens& tokens, const Matrix<float>& decays,
                                  std::int64_t first, std::int64_t count) {
  const DeltaRuleTokens part = tokens.part(first, count);
  return {.queries = part.queries,
          .keys = part.keys,
          .decays = decays.view().row_block(first, count),
          .values = part.values,
          .steps = part.steps};
}

TEST(DeltaRuleByChannel, EqualsTheRecurrenceInFloat64) {
  constexpr std::int64_t kTokens = 70, kDepth = 24, kColumns = 33;
  const DrawnTokens tokens(kTokens, kDepth, kColumns);
  std::mt19937 generator(12);
  std::uniform_real_distribution<float> share(0.1F, 0.99F);
  Matrix<float> decays(kTokens, kDepth);
  for (std::int64_t at = 0; at < kTokens * kDepth; ++at) decays.data()[at] = share(generator);
  Matrix<float> state = zeros(kDepth, kColumns), out(kTokens, kColumns);
  delta_rule_by_channel(by_channel(tokens, decays, 0, kTokens), state.view(), out.view(),
                        test_compute());

  Matrix<double> exact(kDepth, kColumns);
  std::fill_n(exact.data(), kDepth * kColumns, 0.0);
  double largest = 0, error = 0;
  for (std::int64_t token = 0; token < kTokens; ++token) {
    const auto step = static_cast<double>(tokens.steps[static_cast<std::size_t>(token)]);
    for (std::int64_t col = 0; col < kColumns; ++col) {
      double known = 0, given = 0;
      for (std::int64_t k = 0; k < kDepth; ++k) {
        exact(k, col) *= static_cast<double>(decays(token, k));
        known += exact(k, col) * static_cast<double>(tokens.keys(token, k));
      }
      const double change = step * (static_cast<double>(tokens.values(token, col)) - known);
      for (std::int64_t k = 0; k < kDepth; ++k) {
        exact(k, col) += static_cast<double>(tokens.keys(token, k)) * change;
        given += exact(k, col) * static_cast<double>(tokens.queries(token, k));
      }
      largest = std::max(largest, std::abs(given));
      error = std::max(error, std::abs(given - static_cast<double>(out(token, col))));
    }
  }
  EXPECT_LE(error, kDeltaTolerance * largest);
  EXPECT_GT(largest, 0.5);
}

TEST(DeltaRuleByChannel, StateContinuesASplitText) {
  constexpr std::int64_t kTokens = 9, kDepth = 6, kColumns = 5;
  const DrawnTokens tokens(kTokens, kDepth, kColumns);
  Matrix<float> decays(kTokens, kDepth);
  for (std::int64_t at = 0; at < kTokens * kDepth; ++at) {
    decays.data()[at] = 0.9F / static_cast<float>(1 + at % 4);
  }
  Matrix<float> whole_state = zeros(kDepth, kColumns), state = zeros(kDepth, kColumns);
  Matrix<float> whole(kTokens, kColumns), parts(kTokens, kColumns);
  delta_rule_by_channel(by_channel(tokens, decays, 0, kTokens), whole_state.view(), whole.view(),
                        test_compute());
  for (const auto& [first, count] : {std::pair{0, 4}, {4, 1}, {5, 4}}) {
    delta_rule_by_channel(by_channel(tokens, decays, first, count), state.view(),
                          parts.view().row_block(first, count), test_compute());
  }
  for (std::int64_t at = 0; at < kTokens * kColumns; ++at) {
    EXPECT_EQ(parts.data()[at], whole.data()[at]);
  }
  for (std::int64_t at = 0; at < kDepth * kColumns; ++at) {
    EXPECT_EQ(state.data()[at], whole_state.data()[at]);
  }
}

TEST(DeltaRule, EqualsTheRecurrenceInFloat64) {
  // Columns that do not fill a vector register, and more than are computed together.
  for (const std::int64_t columns : {1, 5, 16, 33, 128, 130}) {
    SCOPED_TRACE(columns);
    constexpr std::int64_t kTokens = 70, kDepth = 24;
    const DrawnTokens tokens(kTokens, kDepth, columns);
    Matrix<float> state = zeros(kDepth, columns), out(kTokens, columns);
    delta_rule(tokens.part(0, kTokens), state.view(), out.view(), test_compute());

    Matrix<double> exact(kDepth, columns);
    std::fill_n(exact.data(), kDepth * columns, 0.0);
    double largest = 0, error = 0;
    for (std::int64_t token = 0; token < kTokens; ++token) {
      const auto at = static_cast<std::size_t>(token);
      for (std::int64_t col = 0; col < columns; ++col) {
        double known = 0, given = 0;
        for (std::int64_t k = 0; k < kDepth; ++k) {
          exact(k, col) *= static_cast<double>(tokens.decays[at]);
          known += exact(k, col) * static_cast<double>(tokens.keys(token, k));
        }
        const double change = static_cast<double>(tokens.steps[at]) *
                              (static_cast<double>(tokens.values(token, col)) - known);
        for (std::int64_t k = 0; k < kDepth; ++k) {
          exact(k, col) += static_cast<double>(tokens.keys(token, k)) * change;
          given += exact(k, col) * static_cast<double>(tokens.queries(token, k));
        }
        largest = std::max(largest, std::abs(given));
        error = std::max(error, std::abs(given - static_cast<double>(out(token, col))));
      }
    }
    EXPECT_LE(error, kDeltaTolerance * largest);
    EXPECT_GT(largest, 0.5);
  }
}

TEST(DeltaRule, PartsOfATextHaveTheSameDigitsAsTheWhole) {
  constexpr std::int64_t kTokens = 9, kDepth = 7, kColumns = 21;
  const DrawnTokens tokens(kTokens, kDepth, kColumns);
  Matrix<float> whole_state = zeros(kDepth, kColumns), state = zeros(kDepth, kColumns);
  Matrix<float> whole(kTokens, kColumns), parts(kTokens, kColumns);
  delta_rule(tokens.part(0, kTokens), whole_state.view(), whole.view(), test_compute());
  delta_rule(tokens.part(0, 4), state.view(), parts.view().row_block(0, 4), test_compute());
  delta_rule(tokens.part(4, 1), state.view(), parts.view().row_block(4, 1), test_compute());
  delta_rule(tokens.part(5, 4), state.view(), parts.view().row_block(5, 4), test_compute());
  for (std::int64_t at = 0; at < kTokens * kColumns; ++at) {
    ASSERT_EQ(parts.data()[at], whole.data()[at]) << at;
  }
  for (std::int64_t at = 0; at < kDepth * kColumns; ++at) {
    ASSERT_EQ(state.data()[at], whole_state.data()[at]) << at;
  }
}

}  // namespace
}  // namespace attnscope
