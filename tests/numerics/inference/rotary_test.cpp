#include "attnscope/numerics/inference/rotary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

std::vector<float> frequencies(std::int64_t pairs) {
  std::vector<float> out;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    out.push_back(static_cast<float>(
        std::pow(10000.0, -static_cast<double>(pair) / static_cast<double>(pairs))));
  }
  return out;
}

TEST(Rotary, AnglesAreRoundedToFloat32BeforeTheirCosine) {
  constexpr std::int64_t kFirst = 32000, kTokens = 5;
  const std::vector<float> f = frequencies(6);
  const RotaryTable table = make_rotary_table(f, /*gain=*/1, RotaryPairs::halves, kFirst, kTokens);
  bool differs_from_exact_angles = false;
  for (std::int64_t token = 0; token < kTokens; ++token) {
    for (std::int64_t pair = 0; pair < 6; ++pair) {
      const auto position = static_cast<float>(kFirst + token);
      const volatile float angle = position * f[static_cast<std::size_t>(pair)];
      const double rounded = static_cast<double>(angle);
      EXPECT_EQ(table.cos(token, pair), static_cast<float>(std::cos(rounded)));
      EXPECT_EQ(table.sin(token, pair), static_cast<float>(std::sin(rounded)));
      const double exact = static_cast<double>(position) * f[static_cast<std::size_t>(pair)];
      if (std::abs(std::cos(exact) - table.cos(token, pair)) > 1e-4) {
        differs_from_exact_angles = true;
      }
    }
  }
  EXPECT_TRUE(differs_from_exact_angles);  // otherwise the test would prove nothing
}

TEST(Rotary, ScaleMultipliesCosinesAndSines) {
  const std::vector<float> f = frequencies(3);
  const RotaryTable plain = make_rotary_table(f, 1, RotaryPairs::halves, 0, 4),
                    gained = make_rotary_table(f, 1.3F, RotaryPairs::halves, 0, 4);
  for (std::int64_t at = 0; at < 12; ++at) {
    EXPECT_EQ(gained.cos.data()[at], plain.cos.data()[at] * 1.3F);
    EXPECT_EQ(gained.sin.data()[at], plain.sin.data()[at] * 1.3F);
  }
}

class RotaryOfPairs : public testing::TestWithParam<RotaryPairs> {};
INSTANTIATE_TEST_SUITE_P(Kinds, RotaryOfPairs,
                         testing::Values(RotaryPairs::halves, RotaryPairs::neighbors));

TEST_P(RotaryOfPairs, RotatesTheFirstDimensionsAndCopiesTheRest) {
  for (const std::int64_t pairs : {1, 2, 8, 13, 16, 32, 40, 64}) {
    constexpr std::int64_t kTokens = 9, kRest = 3;
    const std::int64_t depth = 2 * pairs + kRest;
    const Matrix<float> rows = converted<float>(gaussian_matrix(kTokens, depth + 4, 1));
    Matrix<float> rotated = converted<float>(gaussian_matrix(kTokens, depth + 4, 1));
    const RotaryTable table = make_rotary_table(frequencies(pairs), 1, GetParam(), 7, kTokens);
    const MatrixView<const float> before = rows.view().col_block(2, depth);
    const MatrixView<float> after = rotated.view().col_block(2, depth);
    for (const Rotation direction : {Rotation::forward, Rotation::backward}) {
      const double sign = direction == Rotation::forward ? 1 : -1;
      for (std::int64_t at = 0; at < kTokens * (depth + 4); ++at)
        rotated.data()[at] = rows.data()[at];
      rotate(after, table, direction, test_compute());
      for (std::int64_t token = 0; token < kTokens; ++token) {
        for (std::int64_t pair = 0; pair < pairs; ++pair) {
          const auto [at, step] = rotary_pair(GetParam(), pair, pairs);
          const double a = before(token, at), b = before(token, at + step);
          const double cos = table.cos(token, pair), sin = sign * table.sin(token, pair);
          // Two products and a sum of numbers up to 5.
          EXPECT_NEAR(after(token, at), a * cos - b * sin, 1e-6);
          EXPECT_NEAR(after(token, at + step), b * cos + a * sin, 1e-6);
        }
        for (std::int64_t col = 2 * pairs; col < depth; ++col) {
          EXPECT_EQ(after(token, col), before(token, col));
        }
        for (const std::int64_t col : {std::int64_t{0}, std::int64_t{1}, depth + 2, depth + 3}) {
          EXPECT_EQ(rotated(token, col), rows(token, col));
        }
      }
    }
  }
}

TEST(Rotary, BackwardUndoesForward) {
  const Matrix<float> rows = converted<float>(gaussian_matrix(50, 64, 1));
  Matrix<float> rotated = converted<float>(gaussian_matrix(50, 64, 1));
  const RotaryTable table = make_rotary_table(frequencies(32), 1, RotaryPairs::halves, 0, 50);
  rotate(rotated.view(), table, Rotation::forward, test_compute());
  rotate(rotated.view(), table, Rotation::backward, test_compute());
  for (std::int64_t at = 0; at < 50 * 64; ++at) {
    EXPECT_NEAR(rotated.data()[at], rows.data()[at], 2e-6);
  }
}

}  // namespace
}  // namespace attnscope
