// Energy ranks from a few leading directions: always equal to the rank from all singular values,
// and proven in the expected cases.
#include "attnscope/numerics/attention_maps/certified_rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attnscope/numerics/attention_maps/kernels/kernels.h"
#include "attnscope/numerics/products/gram.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/attention_maps.h"
#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

class CertifiedRank : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_compute().kernels.available()) GTEST_SKIP() << "no kernels for this CPU";
  }
};

/// Σ_{i≤r} σ_i² / Σσ² for r = 1 … n, from all singular values in float64. Small maps use LAPACK
/// only.
std::vector<double> energies_of(const Matrix<float>& map) {
  const Matrix<double> exact = converted<double>(map);
  std::vector<double> sums;
  double sum = 0;
  const MatrixView<const double> view = exact.view();
  const std::vector<double> values = map.rows() <= 512
                                         ? plain_singular_values(view).values
                                         : singular_values(view, test_compute()).values;
  for (const double value : values) sums.push_back(sum += value * value);
  for (double& energy : sums) energy /= sum;
  return sums;
}

std::int64_t rank_at(const std::vector<double>& energies, double threshold) {
  return std::lower_bound(energies.begin(), energies.end(), threshold) - energies.begin() + 1;
}

RankOrValues found(const Matrix<float>& map, double threshold) {
  return energy_rank_or_values(map.view(), threshold, test_compute());
}

TEST_F(CertifiedRank, AlwaysEqualsTheRankFromAllValues) {
  for (const std::int64_t tokens : {130, 401, 512, 1024}) {
    std::size_t proven = 0;
    for (const NamedMap& named : maps_of_every_kind(tokens)) {
      const std::vector<double> energies = energies_of(named.map);
      std::vector<double> thresholds = {0.5, 0.9, 0.99};
      if (tokens <= 512) {
        thresholds.insert(thresholds.end(), {0.6, 0.8, 0.95});
        // At the thresholds, and next to them by more and less than rounding.
        const auto middle = energies[static_cast<std::size_t>(rank_at(energies, 0.9) - 1)];
        for (const double beside : {0.0, 1e-15, -1e-15, 1e-11, -1e-11, 1e-7, -1e-7, 1e-4, -1e-4}) {
          thresholds.push_back(middle + beside);
        }
      }
      for (const double threshold : thresholds) {
        if (threshold >= 1) continue;
        SCOPED_TRACE(named.name + ", " + std::to_string(tokens) + " at " +
                     std::to_string(threshold));
        const RankOrValues got = found(named.map, threshold);
        if (got.rank) {
          ++proven;
          EXPECT_EQ(*got.rank, rank_at(energies, threshold));
          // No rank is certified within rounding of a threshold.
          const double error = error_of_energies(static_cast<std::size_t>(tokens)) / 2;
          EXPECT_EQ(rank_at(energies, threshold - error), rank_at(energies, threshold + error));
        } else {
          ASSERT_EQ(std::ssize(got.values), tokens);
          EXPECT_TRUE(std::is_sorted(got.values.rbegin(), got.values.rend()));
        }
      }
    }
    EXPECT_EQ(proven > 0, tokens >= 384);
  }
}

TEST_F(CertifiedRank, IsProvenForFewDirectionsAndSkippedForMany) {
  for (const std::int64_t tokens : {512, 1024}) {
    EXPECT_EQ(found(one_column_map(tokens, 0), 0.9).rank, 1);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      // A typical map of a model with random weights.
      const Matrix<float> map = softmax_map(tokens, 64, 0.2, /*causal=*/true, seed);
      EXPECT_EQ(found(map, 0.9).rank, rank_at(energies_of(map), 0.9));
    }
  }
  EXPECT_FALSE(found(converted<float>(identity_matrix(512, 512)), 0.9).rank);
}

TEST_F(CertifiedRank, DoesNotDependOnThreadsOrScale) {
  const Matrix<float> map = softmax_map(520, 64, 0.3, /*causal=*/true, 1);
  const RankOrValues expected = found(map, 0.9);
  ASSERT_TRUE(expected.rank);
  LentTeam team(3);
  EXPECT_EQ(energy_rank_or_values(map.view(), 0.9, team.compute()).rank, expected.rank);
  const Matrix<float> flat = softmax_map(520, 64, 9, /*causal=*/true, 1);
  const RankOrValues values = found(flat, 0.9);
  EXPECT_FALSE(values.rank);
  EXPECT_EQ(energy_rank_or_values(flat.view(), 0.9, team.compute()).values, values.values);
  for (const float scale : {0x1p-60F, 0x1p100F}) {
    Matrix<float> scaled(520, 520), scaled_flat(520, 520);
    for (std::int64_t at = 0; at < 520 * 520; ++at) {
      scaled.data()[at] = map.data()[at] * scale;
      scaled_flat.data()[at] = flat.data()[at] * scale;
    }
    EXPECT_EQ(found(scaled, 0.9).rank, expected.rank);
    const RankOrValues got = found(scaled_flat, 0.9);
    ASSERT_EQ(got.values.size(), values.values.size());
    EXPECT_DOUBLE_EQ(got.values[0], values.values[0] * static_cast<double>(scale));
  }
}

TEST_F(CertifiedRank, IsZeroForZeros) {
  EXPECT_EQ(found(converted<float>(zero_matrix(400, 400)), 0.9).rank, 0);
}

TEST(CertifiedRankByTrace, CountsTheUnknownEnergyAgainstEachRank) {
  // Of an energy of 10, 6, 3 and 0.5 are known. The other 0.5 may be in any direction.
  const LeadingDirections directions{.energy = 10, .values = {6, 3, 0.5}};
  EXPECT_DOUBLE_EQ(directions.captured(), 0.95);
  EXPECT_EQ(rank_by_trace(directions, 0.59, 1e-9), 1);
  EXPECT_EQ(rank_by_trace(directions, 0.66, 1e-9), 2);
  EXPECT_FALSE(rank_by_trace(directions, 0.64, 1e-9));  // the first value may be 6.5
  EXPECT_FALSE(rank_by_trace(directions, 0.6, 1e-9));   // within rounding of the threshold
  EXPECT_FALSE(rank_by_trace(directions, 0.92, 1e-9));
  EXPECT_FALSE(rank_by_trace(directions, 0.96, 1e-9));
}

TEST_F(CertifiedRank, UsesASubspaceIfTheTraceIsNotEnough) {
  // 20 values of energy 4 and 480 of energy 0.02: 80 of 89.6. Only the norm limits the other
  // values.
  std::vector<double> planted(500, std::sqrt(0.02));
  std::fill_n(planted.begin(), 20, 2.0);
  const Matrix<float> map =
      converted<float>(matrix_with_singular_values(500, 500, planted, /*seed=*/3));
  const double* gram = gram_tiles(ColumnSource<float>(map.view()), 1.0, test_compute());
  const double energy = 89.6;
  EXPECT_EQ(rank_by_subspace(gram, 500, energy, 48, 0.5, test_compute()), 12);  // 11.2 times 4
  EXPECT_EQ(rank_by_subspace(gram, 500, energy, 48, 0.7, test_compute()), 16);
  EXPECT_FALSE(rank_by_subspace(gram, 500, energy, 48, 0.95, test_compute()));
}

TEST_F(CertifiedRank, ProductsEqualTheDefinition) {
  constexpr auto kSketch = static_cast<std::int64_t>(kernels::kSketch);
  for (const std::int64_t size : {1, 5, 24, 61, 300}) {
    for (const bool lower : {false, true}) {
      Matrix<float> a = converted<float>(gaussian_matrix(size, size, 1));
      for (std::int64_t row = 0; lower && row < size; ++row) {
        for (std::int64_t col = row + 1; col < size; ++col) a(row, col) = 0;
      }
      const Matrix<double> exact = converted<double>(a), few = gaussian_matrix(size, kSketch, 2);
      const Matrix<double> product = naive_product(exact.view(), few.view());
      const Matrix<double> twice = naive_product(exact.view().transposed(), product.view());
      Matrix<double> got(size, kSketch), got_twice(size, kSketch);
      const auto columns = static_cast<std::size_t>(size);
      std::vector<double> scratch(kernels::kTogether * kernels::gram_scratch(columns));
      kernels::multiply_map(test_compute().kernels, a.view(), lower, few.data(), got.data());
      const double squares = kernels::multiply_map_gram(
          test_compute().kernels, a.view(), lower, few.data(), scratch.data(), got_twice.data());
      const double tolerance = 1e-13 * static_cast<double>(size);
      for (std::int64_t row = 0; row < size; ++row) {
        for (std::int64_t col = 0; col < kSketch; ++col) {
          ASSERT_NEAR(got(row, col), product(row, col), tolerance);
          ASSERT_NEAR(got_twice(row, col), twice(row, col), 100 * tolerance);
        }
      }
      const double expected = std::pow(frobenius_norm(exact.view()), 2);
      EXPECT_NEAR(squares, expected, 1e-13 * expected);
    }
  }
}

TEST_F(CertifiedRank, MultipliesSymmetricTiles) {
  constexpr std::int64_t kSize = 72, kWidth = 48;
  const Matrix<float> a = converted<float>(integer_matrix(kSize, kSize, 3, 5));
  const Matrix<double> exact = converted<double>(a);
  const Matrix<double> gram = naive_product(exact.view(), exact.view().transposed());
  const Matrix<double> in = integer_matrix(kSize, kWidth, 3, 6);
  const Matrix<double> expected = naive_product(gram.view(), in.view());
  const double* tiles = gram_tiles(ColumnSource<float>(a.view()), 1.0, test_compute());
  Matrix<double> got(kSize, kWidth);
  kernels::multiply_symmetric(test_compute().kernels, tiles, 3, in.data(), kWidth, got.data());
  for (std::int64_t at = 0; at < kSize * kWidth; ++at) {
    ASSERT_EQ(got.data()[at], expected.data()[at]);  // integers
  }
}

TEST_F(CertifiedRank, GramMatrixOfALowerTriangleCostsAThird) {
  for (const std::int64_t size : {1, 23, 25, 270, 1100}) {  // including more than one packed block
    Matrix<float> a = converted<float>(gaussian_matrix(size, size, 7));
    for (std::int64_t row = 0; row < size; ++row) {
      for (std::int64_t col = row + 1; col < size; ++col) a(row, col) = 0;
    }
    const std::size_t tiles = (static_cast<std::size_t>(size) + 23) / 24;
    const std::size_t count = 24 * 24 * tiles * (tiles + 1) / 2;
    const double* whole = gram_tiles(ColumnSource<float>(a.view()), 0.5, test_compute());
    const std::vector<double> expected(whole, whole + count);
    const double* lower = gram_tiles(ColumnSource<float>(a.view()), 0.5, test_compute(), true);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), lower)) << size;
  }
}

}  // namespace
}  // namespace attnscope
