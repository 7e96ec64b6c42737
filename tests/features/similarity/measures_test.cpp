#include "attnscope/features/similarity/measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attnscope/numerics/statistics/quantiles.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using test::gaussian_matrix;

const BinRule kTenBins{.bins = 10, .range = ValueRange{-1, 1}};
const BinRule kFreedmanDiaconis{.freedman_diaconis = true};

double naive_cosine(const Matrix<double>& matrix, std::int64_t a, std::int64_t b) {
  double product = 0, first = 0, second = 0;
  for (std::int64_t col = 0; col < matrix.cols(); ++col) {
    product += matrix(a, col) * matrix(b, col);
    first += matrix(a, col) * matrix(a, col);
    second += matrix(b, col) * matrix(b, col);
  }
  return product / std::sqrt(first * second);
}

/// Cosines per scope by definition, without zero rows.
std::array<std::vector<double>, 3> naive_scopes(const Matrix<double>& matrix,
                                                std::int64_t head_rows) {
  std::array<std::vector<double>, 3> scopes;
  for (std::int64_t a = 0; a < matrix.rows(); ++a) {
    for (std::int64_t b = a + 1; b < matrix.rows(); ++b) {
      const double cosine = naive_cosine(matrix, a, b);
      if (std::isnan(cosine)) continue;
      scopes[a / head_rows == b / head_rows ? 0 : 1].push_back(cosine);
      scopes[2].push_back(cosine);
    }
  }
  return scopes;
}

void expect_cosines_as_defined(const Matrix<double>& matrix, std::int64_t head_rows) {
  const Similarity similarity =
      cosine_similarity(std::as_const(matrix).view(), head_rows, kTenBins);
  const auto expected = naive_scopes(matrix, head_rows);
  for (std::size_t scope = 0; scope < 3; ++scope) {
    SCOPED_TRACE(kPairScopeNames[scope]);
    const ScopeSimilarity& got = similarity.scopes[scope];
    const std::vector<double>& values = expected[scope];
    ASSERT_EQ(got.pairs, std::ssize(values));
    ASSERT_EQ(got.mean.has_value(), !values.empty());
    std::int64_t counted = 0;
    for (const std::int64_t count : got.histogram->counts()) counted += count;
    EXPECT_EQ(counted, got.pairs);
    if (values.empty()) continue;
    double mean = 0, square = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (const double value : values) square += (value - mean) * (value - mean);
    EXPECT_NEAR(*got.mean, mean, 1e-13);
    EXPECT_NEAR(*got.std, std::sqrt(square / static_cast<double>(values.size())), 1e-13);
  }
}

TEST(Similarity, MatchesTheDefinitionForManyShapes) {
  const struct {
    std::int64_t rows, cols, head_rows;
  } shapes[] = {{12, 8, 4}, {1, 5, 1},     {6, 1, 3},     {7, 9, 7},
                {10, 3, 1}, {600, 20, 40}, {1100, 6, 550}};
  for (const auto& [rows, cols, head_rows] : shapes) {
    SCOPED_TRACE(rows);
    expect_cosines_as_defined(gaussian_matrix(rows, cols, 3), head_rows);
  }
}

TEST(Similarity, SkipsAndCountsZeroVectors) {
  Matrix<double> matrix = gaussian_matrix(12, 5, 7);
  for (const std::int64_t row : {0, 4, 5, 6, 7, 11}) {
    for (std::int64_t col = 0; col < 5; ++col) matrix(row, col) = 0;
  }
  expect_cosines_as_defined(matrix, 4);  // the second head is zero
  EXPECT_EQ(cosine_similarity(std::as_const(matrix).view(), 4, {}).zero_vectors, 6);

  const Matrix<double> zero = test::zero_matrix(6, 4);
  const Similarity nothing = cosine_similarity(zero.view(), 3, kFreedmanDiaconis);
  EXPECT_EQ(nothing.zero_vectors, 6);
  for (const ScopeSimilarity& scope : nothing.scopes) {
    EXPECT_EQ(scope.pairs, 0);
    EXPECT_FALSE(scope.mean);
    EXPECT_EQ(scope.histogram->counts(), std::vector<std::int64_t>{0});
  }
}

TEST(Similarity, MeanOverPairsFollowsFromTheSumOfUnitVectors) {
  const Matrix<double> matrix = gaussian_matrix(700, 30, 11);
  std::vector<double> sum(30, 0.0);
  for (std::int64_t row = 0; row < 700; ++row) {
    double norm = 0;
    for (std::int64_t col = 0; col < 30; ++col) norm += matrix(row, col) * matrix(row, col);
    for (std::int64_t col = 0; col < 30; ++col) {
      sum[static_cast<std::size_t>(col)] += matrix(row, col) / std::sqrt(norm);
    }
  }
  double square = 0;
  for (const double value : sum) square += value * value;
  const Similarity similarity = cosine_similarity(matrix.view(), 70, {});
  EXPECT_NEAR(*similarity.scopes[2].mean, (square - 700) / (700.0 * 699.0), 1e-14);
}

TEST(Similarity, FreedmanDiaconisBinsEqualThoseOfAllPairsAtOnce) {
  const Matrix<double> matrix = gaussian_matrix(640, 24, 5);
  const Similarity similarity = cosine_similarity(matrix.view(), 32, kFreedmanDiaconis);
  auto expected = naive_scopes(matrix, 32);
  for (std::size_t scope = 0; scope < 3; ++scope) {
    std::vector<double>& values = expected[scope];
    std::sort(values.begin(), values.end());
    const auto at = [&](double fraction) {
      const QuantilePosition position = quantile_position(std::ssize(values), fraction);
      return interpolate(values[static_cast<std::size_t>(position.below)],
                         values[static_cast<std::size_t>(position.above)], position.weight);
    };
    const Bins bins = choose_bins(kFreedmanDiaconis, Spread{std::ssize(values), values.front(),
                                                            values.back(), at(0.25), at(0.75)});
    const Histogram& got = *similarity.scopes[scope].histogram;
    ASSERT_EQ(got.edges().size(), bins.edges.size());
    for (std::size_t edge = 0; edge < bins.edges.size(); ++edge) {
      EXPECT_NEAR(got.edges()[edge], bins.edges[edge], 1e-13);
    }
    std::int64_t counted = 0;
    for (const std::int64_t count : got.counts()) counted += count;
    EXPECT_EQ(counted, std::ssize(values));
  }
}

// Equal, opposite or orthogonal rows are exact for any summation order of BLAS.
TEST(Similarity, SimpleAnglesAreExact) {
  Matrix<double> matrix = gaussian_matrix(30, 17, 2);
  for (std::int64_t row = 1; row < 30; ++row) {
    for (std::int64_t col = 0; col < 17; ++col) {
      matrix(row, col) = matrix(0, col) * (row % 2 == 0 ? 3 : -0.7);
    }
  }
  const Matrix<double> cosines = cosine_matrix(std::as_const(matrix).view());
  for (std::int64_t a = 0; a < 30; ++a) {
    for (std::int64_t b = 0; b < 30; ++b) {
      const bool alike = a == b || (a % 2 == 0) == (b % 2 == 0);
      ASSERT_EQ(cosines(a, b), alike ? 1 : -1) << a << ", " << b;
    }
  }
  const Matrix<double> identity = test::identity_matrix(9, 9);
  const Similarity similarity = cosine_similarity(identity.view(), 3, kFreedmanDiaconis);
  EXPECT_EQ(*similarity.scopes[2].mean, 0);
  EXPECT_EQ(*similarity.scopes[2].std, 0);
  EXPECT_EQ(similarity.scopes[2].histogram->counts(), std::vector<std::int64_t>{36});
}

TEST(Similarity, DoesNotDependOnTheNormOfARow) {
  const Matrix<double> plain = gaussian_matrix(40, 13, 21);
  Matrix<double> scaled = gaussian_matrix(40, 13, 21);
  for (std::int64_t row = 0; row < 40; ++row) {
    for (std::int64_t col = 0; col < 13; ++col) {
      scaled(row, col) = std::ldexp(scaled(row, col), row % 2 == 0 ? 1000 : -1000);
    }
  }
  const Matrix<double> expected = cosine_matrix(plain.view());
  const Matrix<double> got = cosine_matrix(std::as_const(scaled).view());
  for (std::int64_t a = 0; a < 40; ++a) {
    for (std::int64_t b = 0; b < 40; ++b) ASSERT_NEAR(got(a, b), expected(a, b), 1e-13);
  }
}

TEST(CosineMatrix, HasNoValueForAZeroRow) {
  Matrix<double> matrix = gaussian_matrix(3, 4, 1);
  for (std::int64_t col = 0; col < 4; ++col) matrix(1, col) = 0;
  const Matrix<double> cosines = cosine_matrix(std::as_const(matrix).view());
  for (std::int64_t other = 0; other < 3; ++other) {
    EXPECT_TRUE(std::isnan(cosines(1, other)) && std::isnan(cosines(other, 1)));
  }
  EXPECT_EQ(cosines(0, 0), 1);
  EXPECT_NEAR(cosines(0, 2), naive_cosine(matrix, 0, 2), 1e-13);
  EXPECT_EQ(cosines(0, 2), cosines(2, 0));
}

}  // namespace
}  // namespace attnscope
