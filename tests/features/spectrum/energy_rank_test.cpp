// Energy ranks at thresholds and edge cases, and the cumulative sums from which they are computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

std::vector<double> ones(std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count), 1.0);
}

// For n equal values, the rank at t is the smallest r with r >= t n. This must hold even if t n is
// an integer and both the threshold and the sums are rounded.
TEST(EnergyRank, IsExactAtTiesForTheIdentity) {
  for (std::int64_t size = 1; size <= 64; ++size) {
    const Matrix<double> identity = identity_matrix(size, size);
    const std::vector<double> computed = singular_values(identity.view()).values;
    for (std::int64_t tenths = 1; tenths <= 9; ++tenths) {
      const std::int64_t expected = (tenths * size + 9) / 10;  // ceil
      const double threshold = static_cast<double>(tenths) / 10;
      EXPECT_EQ(energy_rank(ones(size), threshold), expected) << size << " at " << threshold;
      EXPECT_EQ(energy_rank(computed, threshold), expected) << size << " at " << threshold;
    }
    const std::int64_t hundredths = (99 * size + 99) / 100;
    EXPECT_EQ(energy_rank(computed, 0.99), hundredths) << size;
  }
}

// The same for other equal values, whose squares and sums are not exact.
TEST(EnergyRank, IsExactAtTiesForEqualValues) {
  for (const double value : {0.1, 1.0 / 3, 1e-30, 1.7e30}) {
    for (const std::int64_t size : {10, 20, 50, 100, 1000, 4090}) {
      const std::vector<double> values(static_cast<std::size_t>(size), value);
      EXPECT_EQ(energy_rank(values, 0.9), size * 9 / 10);
      EXPECT_EQ(energy_rank(values, 0.6), size * 6 / 10);
    }
  }
}

// Orthogonal matrices: the computed singular values are equal except for the last digits.
TEST(EnergyRank, IsExactAtTiesForOrthogonalMatrices) {
  for (const std::int64_t size : {10, 20, 30, 40, 50, 60, 100, 200}) {
    const std::vector<double> planted = ones(size);
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Matrix<double> matrix = matrix_with_singular_values(size, size, planted, seed);
      const std::vector<double> values = singular_values(matrix.view()).values;
      for (const std::int64_t tenths : {1, 3, 6, 7, 9}) {
        EXPECT_EQ(energy_rank(values, static_cast<double>(tenths) / 10), size * tenths / 10);
      }
    }
  }
  for (const std::int64_t order : {4, 16, 64, 128}) {
    const Matrix<double> matrix = hadamard_matrix(order, order);
    EXPECT_EQ(energy_rank(singular_values(matrix.view()).values, 0.75), order * 3 / 4);
  }
}

TEST(EnergyRank, ChangesWhereTheEnergyReachesTheThreshold) {
  // Squares 9, 0.9, 0.09 and 0.01 of 10: cumulative energies 0.9, 0.99, 0.999, 1.
  const std::vector<double> values = {3, std::sqrt(0.9), 0.3, 0.1};
  EXPECT_EQ(energy_rank(values, 0.9), 1);
  EXPECT_EQ(energy_rank(values, 0.9 + 1e-9), 2);
  EXPECT_EQ(energy_rank(values, 0.9 - 1e-9), 1);
  EXPECT_EQ(energy_rank(values, 0.99), 2);
  EXPECT_EQ(energy_rank(values, 0.99 + 1e-9), 3);
  EXPECT_EQ(energy_rank(values, 0.999), 3);
  EXPECT_EQ(energy_rank(values, 0.999 + 1e-9), 4);
}

TEST(EnergyRank, SupportsThresholdsNearZeroAndOne) {
  constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
  constexpr double kBelowOne = 1 - 0x1p-53;
  for (const std::int64_t size : {1, 2, 64, 1000}) {
    EXPECT_EQ(energy_rank(ones(size), kSmallest), 1);
    EXPECT_EQ(energy_rank(ones(size), 1e-9), 1);
    EXPECT_EQ(energy_rank(ones(size), kBelowOne), size);
  }
  const std::vector<double> one_ahead = {1, 1e-3};  // energy 1 - 1e-6 at rank 1
  EXPECT_EQ(energy_rank(one_ahead, 1 - 2e-6), 1);
  EXPECT_EQ(energy_rank(one_ahead, 1 - 5e-7), 2);
  EXPECT_EQ(energy_rank(one_ahead, kBelowOne), 2);
  // Zeros have no energy at any threshold.
  const std::vector<double> with_zeros = {2, 1, 0, 0};
  EXPECT_EQ(energy_rank(with_zeros, kBelowOne), 2);
}

TEST(EnergyRank, IsReportedPerThresholdInTheGivenOrder) {
  const std::vector<double> values = {4, 2, 1};
  const std::vector<double> thresholds = {0.99, 0.1, 0.8, 0.8};
  const SpectrumMeasures got = measure_spectrum(values, {3, 3}, thresholds);
  EXPECT_EQ(got.energy_ranks, (std::vector<std::int64_t>{3, 1, 2, 2}));
  EXPECT_TRUE(measure_spectrum(values, {3, 3}, {}).energy_ranks.empty());
}

// ---- Cumulative energy --------------------------------------------------------------------------

TEST(CumulativeEnergy, EndsAtOneAndNeverDecreases) {
  const std::vector<double> by_hand = cumulative_energy(std::vector<double>{2, 1, 1, 0});
  const std::vector<double> expected = {4.0 / 6, 5.0 / 6, 1, 1};
  ASSERT_EQ(by_hand.size(), expected.size());
  for (std::size_t index = 0; index < expected.size(); ++index) {
    EXPECT_DOUBLE_EQ(by_hand[index], expected[index]);
  }

  for (const MatrixKind& kind : matrix_kinds()) {
    const Matrix<double> matrix = kind.make(40, 25, /*seed=*/9);
    const std::vector<double> got = cumulative_energy(singular_values(matrix.view()).values);
    if (kind.name == "zero") {
      EXPECT_TRUE(got.empty());
      continue;
    }
    ASSERT_EQ(got.size(), 25) << kind.name;
    EXPECT_TRUE(std::is_sorted(got.begin(), got.end())) << kind.name;
    EXPECT_GT(got.front(), 0) << kind.name;
    EXPECT_EQ(got.back(), 1) << kind.name;
  }
}

TEST(CumulativeEnergy, AgreesWithTheEnergyRanks) {
  const std::vector<double> values = geometric_values(50, 1e-3);
  const std::vector<double> energy = cumulative_energy(values);
  for (std::size_t rank = 2; rank <= values.size(); ++rank) {
    // Halfway up a step, the rank is that of the step's upper end.
    const double between = (energy[rank - 2] + energy[rank - 1]) / 2;
    EXPECT_EQ(energy_rank(values, between), static_cast<std::int64_t>(rank));
  }
}

}  // namespace
}  // namespace attnscope
