// Every measure compared with results by hand, its edge cases, and transformations that must not
// change it.
#include "attnscope/features/spectrum/measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

constexpr std::array kThresholds = {0.6, 0.8, 0.9, 0.99};

SpectrumMeasures measured_spectrum(const Matrix<double>& matrix) {
  return measure_spectrum(singular_values(matrix.view()).values, {matrix.rows(), matrix.cols()},
                          kThresholds);
}

// ---- By hand ------------------------------------------------------------------------------------

TEST(Spectrum, MatchesResultsByHand) {
  // Σσ² = 21, Σσ = 7, Σσ⁴ = 273; energies 16/21 = 0.76, 20/21 = 0.95, 1.
  const std::vector<double> values = {4, 2, 1, 0};
  const SpectrumMeasures got = measure_spectrum(values, {6, 4}, kThresholds);
  EXPECT_EQ(got.energy_ranks, (std::vector<std::int64_t>{1, 2, 2, 3}));
  EXPECT_DOUBLE_EQ(got.stable_rank, 21.0 / 16.0);
  // p = 4/7, 2/7, 1/7: -Σ p ln p = ln 7 - (4 ln 4 + 2 ln 2) / 7 = ln 7 - (10/7) ln 2.
  EXPECT_DOUBLE_EQ(got.effective_rank, 7 * std::pow(2, -10.0 / 7.0));
  EXPECT_DOUBLE_EQ(got.participation_ratio, 441.0 / 273.0);
  EXPECT_EQ(got.numerical_rank, 3);
  EXPECT_EQ(got.max_possible_rank, 4);
  EXPECT_DOUBLE_EQ(got.spectral_norm, 4);
  EXPECT_DOUBLE_EQ(got.frobenius_norm, std::sqrt(21));
  EXPECT_DOUBLE_EQ(got.nuclear_norm, 7);
  EXPECT_FALSE(got.condition_number.has_value());
}

TEST(Spectrum, MeasuresAMatrixWithKnownSingularValues) {
  const std::vector<double> planted = {4, 2, 1};
  for (const auto& [rows, cols] : {std::pair{6, 3}, {3, 6}, {3, 3}, {3, 500}}) {
    const SpectrumMeasures got =
        measured_spectrum(matrix_with_singular_values(rows, cols, planted, /*seed=*/7));
    // Each value has an error of at most 2 (m + n) ε σ_1² / σ. For σ_1 = 4 σ_3, every quotient is
    // within 1e-11.
    constexpr double kRounding = 1e-11;
    EXPECT_EQ(got.energy_ranks, (std::vector<std::int64_t>{1, 2, 2, 3}));
    EXPECT_NEAR(got.stable_rank, 21.0 / 16.0, kRounding);
    EXPECT_NEAR(got.effective_rank, 7 * std::pow(2, -10.0 / 7.0), kRounding);
    EXPECT_NEAR(got.participation_ratio, 441.0 / 273.0, kRounding);
    EXPECT_EQ(got.numerical_rank, 3);
    EXPECT_EQ(got.max_possible_rank, 3);
    EXPECT_NEAR(got.spectral_norm, 4, kRounding);
    EXPECT_NEAR(got.frobenius_norm, std::sqrt(21), kRounding);
    EXPECT_NEAR(got.nuclear_norm, 7, kRounding);
    ASSERT_TRUE(got.condition_number.has_value());
    EXPECT_NEAR(*got.condition_number, 4, kRounding);
  }
}

TEST(Spectrum, ASingleValueHasEveryRankOne) {
  for (const double value : {1.0, 0.1, 3e-30, 7e30}) {
    const std::vector<double> values = {value};
    const SpectrumMeasures got = measure_spectrum(values, {1, 9}, kThresholds);
    EXPECT_EQ(got.energy_ranks, std::vector<std::int64_t>(4, 1));
    EXPECT_EQ(got.stable_rank, 1);
    EXPECT_EQ(got.effective_rank, 1);
    EXPECT_EQ(got.participation_ratio, 1);
    EXPECT_EQ(got.numerical_rank, 1);
    EXPECT_EQ(got.spectral_norm, value);
    EXPECT_EQ(got.frobenius_norm, value);
    EXPECT_EQ(got.nuclear_norm, value);
    EXPECT_EQ(got.condition_number, 1);
  }
}

TEST(Spectrum, AZeroMatrixHasEveryRankZero) {
  for (const auto& [rows, cols] : {std::pair{1, 1}, {5, 3}, {3, 5}, {64, 64}}) {
    const Matrix<double> zero = test::zero_matrix(rows, cols);
    const SpectrumMeasures got = measured_spectrum(zero);
    EXPECT_EQ(got.energy_ranks, std::vector<std::int64_t>(4, 0));
    EXPECT_EQ(got.stable_rank, 0);
    EXPECT_EQ(got.effective_rank, 0);
    EXPECT_EQ(got.participation_ratio, 0);
    EXPECT_EQ(got.numerical_rank, 0);
    EXPECT_EQ(got.max_possible_rank, std::min(rows, cols));
    EXPECT_EQ(got.spectral_norm, 0);
    EXPECT_EQ(got.frobenius_norm, 0);
    EXPECT_EQ(got.nuclear_norm, 0);
    EXPECT_FALSE(got.condition_number.has_value());
    EXPECT_EQ(energy_rank(singular_values(std::as_const(zero).view()).values, 0.9), 0);
    EXPECT_TRUE(cumulative_energy(singular_values(std::as_const(zero).view()).values).empty());
  }
}

// ---- Small singular values ----------------------------------------------------------------------

TEST(ConditionNumber, IsEmptyIfTheLastValueIsBelowAMillionthOfTheFirst) {
  const auto of = [](double first, double last) {
    return measure_spectrum(std::vector<double>{first, last}, {2, 2}, kThresholds).condition_number;
  };
  EXPECT_EQ(of(1, 1), 1);
  EXPECT_EQ(of(3, 1.5), 2);
  ASSERT_TRUE(of(1, 1e-6).has_value());
  EXPECT_DOUBLE_EQ(*of(1, 1e-6), 1e6);
  EXPECT_FALSE(of(1, std::nextafter(1e-6, 0)).has_value());
  EXPECT_FALSE(of(1, 0).has_value());
  EXPECT_FALSE(of(1e30, 1e23).has_value());
  EXPECT_TRUE(of(1e30, 1.1e24).has_value());
  EXPECT_TRUE(of(1e-30, 1.1e-36).has_value());
}

TEST(NumericalRank, CountsValuesAboveTheLongerSideTimesFloatEpsilon) {
  // For a longer side of 32, the cutoff is 2^5 2^-23 σ_1. The cutoff itself is not counted.
  const double cut = 0x1p-18;
  const std::vector<double> values = {1, std::nextafter(cut, 1), cut, std::nextafter(cut, 0)};
  EXPECT_EQ(measure_spectrum(values, {32, 4}, kThresholds).numerical_rank, 2);
  EXPECT_EQ(measure_spectrum(values, {4, 32}, kThresholds).numerical_rank, 2);
  EXPECT_EQ(measure_spectrum(values, {4, 31}, kThresholds).numerical_rank, 4);
  EXPECT_EQ(measure_spectrum(values, {33, 4}, kThresholds).numerical_rank, 1);

  std::vector<double> doubled = values;
  for (double& value : doubled) value *= 0x1p40;
  EXPECT_EQ(measure_spectrum(doubled, {32, 4}, kThresholds).numerical_rank, 2);
}

TEST(NumericalRank, FindsTheKnownRank) {
  for (const std::size_t rank : {1, 7, 20}) {
    std::vector<double> planted = geometric_values(20, 1e-2);
    std::fill(planted.begin() + static_cast<std::ptrdiff_t>(rank), planted.end(), 0.0);
    const SpectrumMeasures got =
        measured_spectrum(matrix_with_singular_values(20, 33, planted, /*seed=*/15));
    EXPECT_EQ(got.numerical_rank, static_cast<std::int64_t>(rank));
    EXPECT_EQ(got.max_possible_rank, 20);
  }
}

// ---- Bounds and invariances ---------------------------------------------------------------------

TEST(Spectrum, MeasuresStayWithinTheirBounds) {
  for (const MatrixKind& kind : matrix_kinds()) {
    for (const auto& [rows, cols] : {std::pair{1, 1}, {1, 17}, {24, 24}, {30, 11}, {11, 30}}) {
      SCOPED_TRACE(std::string(kind.name) + " " + std::to_string(rows));
      const SpectrumMeasures got = measured_spectrum(kind.make(rows, cols, /*seed=*/19));
      if (got.spectral_norm == 0) continue;
      const double size = static_cast<double>(got.max_possible_rank);
      const double rounding = 1 + size * 0x1p-52;
      for (const double rank : {got.stable_rank, got.effective_rank, got.participation_ratio}) {
        EXPECT_GE(rank * rounding, 1);
        EXPECT_LE(rank, size * rounding);
      }
      // Σσ⁴ <= σ_1² Σσ².
      EXPECT_GE(got.participation_ratio * rounding, got.stable_rank);
      EXPECT_TRUE(std::is_sorted(got.energy_ranks.begin(), got.energy_ranks.end()));
      EXPECT_GE(got.energy_ranks.front(), 1);
      EXPECT_LE(got.energy_ranks.back(), got.max_possible_rank);
      EXPECT_LE(got.numerical_rank, got.max_possible_rank);
      EXPECT_LE(got.spectral_norm, got.frobenius_norm * rounding);
      EXPECT_LE(got.frobenius_norm, got.nuclear_norm * rounding);
    }
  }
}

TEST(EnergyRank, DoesNotOverflowAtAnyScale) {
  for (const double scale : {1e-300, 1e-170, 1e-30, 1e30, 1e170, 1e300}) {
    const std::vector<double> values = {4 * scale, 2 * scale, scale};
    EXPECT_EQ(energy_rank(values, 0.6), 1);
    EXPECT_EQ(energy_rank(values, 0.8), 2);
    EXPECT_EQ(energy_rank(values, 0.99), 3);
    const SpectrumMeasures got = measure_spectrum(values, {3, 3}, kThresholds);
    EXPECT_DOUBLE_EQ(got.stable_rank, 21.0 / 16.0);
    EXPECT_DOUBLE_EQ(got.participation_ratio, 441.0 / 273.0);
    EXPECT_DOUBLE_EQ(got.frobenius_norm, std::sqrt(21) * scale);
  }
}

TEST(Spectrum, ScalingByAPowerOfTwoIsExact) {
  const Matrix<double> matrix = gaussian_matrix(18, 29, /*seed=*/23);
  const SpectrumMeasures plain = measured_spectrum(matrix);
  for (const int exponent : {-400, -40, -1, 1, 40, 400}) {
    Matrix<double> scaled = converted<double>(matrix);
    for (std::int64_t index = 0; index < 18 * 29; ++index) {
      scaled.data()[index] = std::ldexp(scaled.data()[index], exponent);
    }
    const SpectrumMeasures got = measured_spectrum(scaled);
    EXPECT_EQ(got.energy_ranks, plain.energy_ranks);
    EXPECT_EQ(got.stable_rank, plain.stable_rank);
    EXPECT_EQ(got.effective_rank, plain.effective_rank);
    EXPECT_EQ(got.participation_ratio, plain.participation_ratio);
    EXPECT_EQ(got.numerical_rank, plain.numerical_rank);
    EXPECT_EQ(got.condition_number, plain.condition_number);
    EXPECT_EQ(got.spectral_norm, std::ldexp(plain.spectral_norm, exponent));
    EXPECT_EQ(got.frobenius_norm, std::ldexp(plain.frobenius_norm, exponent));
    EXPECT_EQ(got.nuclear_norm, std::ldexp(plain.nuclear_norm, exponent));
  }
}

TEST(Spectrum, TranspositionChangesNothing) {
  for (const auto& [rows, cols] : {std::pair{18, 29}, {24, 24}}) {
    const Matrix<double> matrix = gaussian_matrix(rows, cols, /*seed=*/29);
    const SpectrumMeasures plain = measured_spectrum(matrix);
    const SpectrumMeasures got = measure_spectrum(
        singular_values(matrix.view().transposed()).values, {cols, rows}, kThresholds);
    // A square matrix has another Gram matrix when transposed. Each σ changes by at most 2 (m + n)
    // ε σ_1² / σ.
    const double rounding = 4.0 * (rows + cols) * 0x1p-52 * plain.condition_number.value();
    EXPECT_EQ(got.energy_ranks, plain.energy_ranks);
    EXPECT_EQ(got.numerical_rank, plain.numerical_rank);
    EXPECT_EQ(got.max_possible_rank, plain.max_possible_rank);
    EXPECT_NEAR(got.stable_rank / plain.stable_rank, 1, rounding);
    EXPECT_NEAR(got.effective_rank / plain.effective_rank, 1, rounding);
    EXPECT_NEAR(got.participation_ratio / plain.participation_ratio, 1, rounding);
    EXPECT_NEAR(got.frobenius_norm / plain.frobenius_norm, 1, rounding);
    EXPECT_NEAR(got.nuclear_norm / plain.nuclear_norm, 1, rounding);
    EXPECT_NEAR(*got.condition_number / *plain.condition_number, 1,
                rounding * *plain.condition_number);
  }
}

}  // namespace
}  // namespace attnscope
