#include "attnscope/features/directions/top_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace attnscope::test {
namespace {

/// Rows of very different norms, so that some are never visited.
Matrix<double> random_rows(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Matrix<double> out(rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    const double length = std::exp(normal(random));
    for (std::int64_t col = 0; col < cols; ++col) out(row, col) = length * normal(random);
  }
  return out;
}

TEST(TokenPairs, AreTheLargestOfAllProducts) {
  const Matrix<double> a = random_rows(700, 5, 1), b = random_rows(5000, 5, 2);
  std::vector<double> all;
  for (std::int64_t row = 0; row < a.rows(); ++row) {
    for (std::int64_t other = 0; other < b.rows(); ++other) {
      double product = 0;
      for (std::int64_t col = 0; col < a.cols(); ++col) product += a(row, col) * b(other, col);
      all.push_back(product);
    }
  }
  constexpr std::int64_t kCount = 40;
  std::partial_sort(all.begin(), all.begin() + kCount, all.end(), std::greater());
  const std::vector<RowPair> found = top_pairs(a.view(), b.view(), kCount, {});
  ASSERT_EQ(std::ssize(found), kCount);
  for (std::size_t at = 0; at < found.size(); ++at) {
    EXPECT_NEAR(found[at].score, all[at], 1e-9);
    double product = 0;
    for (std::int64_t col = 0; col < a.cols(); ++col) {
      product += a(found[at].a, col) * b(found[at].b, col);
    }
    EXPECT_NEAR(found[at].score, product, 1e-9);
  }
}

TEST(TokenPairs, PreferSmallerRowsAndReturnAllIfThereAreFewer) {
  Matrix<double> ones(3, 1);
  std::fill_n(ones.data(), 3, 1.0);
  const std::vector<RowPair> found = top_pairs(ones.view(), ones.view(), 4, {});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].a, 0);
  EXPECT_EQ(found[0].b, 0);
  EXPECT_EQ(found[3].a, 1);
  EXPECT_EQ(found[3].b, 0);
  EXPECT_EQ(top_pairs(ones.view(), ones.view(), 100, {}).size(), 9u);
}

}  // namespace
}  // namespace attnscope::test
