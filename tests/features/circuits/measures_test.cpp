// Circuits with known measures, and transformations that must not change any measure.
#include "attnscope/features/circuits/measures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

CircuitMeasures measure(const Matrix<double>& left, const Matrix<double>& right) {
  return measure_circuit(make_product_factor(left.view()), make_product_factor(right.view()),
                         /*with_eigenvalues=*/true);
}

/// A matrix (r, cols) with elements `entry(row, col)`.
Matrix<double> made(std::int64_t rows, std::int64_t cols,
                    const std::function<double(std::int64_t, std::int64_t)>& entry) {
  Matrix<double> out(rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) out(row, col) = entry(row, col);
  }
  return out;
}

constexpr double kRounding = 1e-12;  // a few hundred float64 sums of as many terms

TEST(CircuitMeasures, PositiveDefiniteCircuitHasPositiveEigenvalues) {
  const Matrix<double> factor = gaussian_matrix(5, 24, 1);
  const CircuitMeasures got = measure(factor, factor);
  EXPECT_NEAR(*got.symmetry, 1, kRounding);
  EXPECT_NEAR(*got.positive_fraction, 1, kRounding);
  EXPECT_NEAR(*got.copying_score, 1, kRounding);
  EXPECT_LE(*got.identity_cosine, *got.identity_cosine_bound + kRounding);
}

TEST(CircuitMeasures, SymmetricCircuitWithANegativeEigenvalue) {
  // aᵀ a − bᵀ b with a ⟂ b and |a| = 2 |b|: eigenvalues 4 and −1.
  const Matrix<double> left =
      made(2, 6, [](auto row, auto col) { return col == row ? (row == 0 ? 2.0 : 1.0) : 0.0; });
  const Matrix<double> right =
      made(2, 6, [](auto row, auto col) { return col == row ? (row == 0 ? 2.0 : -1.0) : 0.0; });
  const CircuitMeasures got = measure(left, right);
  EXPECT_NEAR(*got.symmetry, 1, kRounding);
  EXPECT_NEAR(*got.positive_fraction, 0.8, kRounding);
  EXPECT_NEAR(*got.copying_score, 0.6, kRounding);
  EXPECT_NEAR(*got.identity_scale, 3.0 / 6, kRounding);
  EXPECT_NEAR(got.frobenius_norm, std::sqrt(17.0), kRounding);
  EXPECT_EQ(got.max_possible_rank, 2);
}

TEST(CircuitMeasures, AntisymmetricCircuitHasNoSymmetricPart) {
  // xᵀ y − yᵀ x is antisymmetric.
  const Matrix<double> rows = gaussian_matrix(2, 20, 1);
  const Matrix<double> left = made(2, 20, [&](auto row, auto col) { return rows(row, col); });
  const Matrix<double> right =
      made(2, 20, [&](auto row, auto col) { return row == 0 ? rows(1, col) : -rows(0, col); });
  const CircuitMeasures got = measure(left, right);
  EXPECT_NEAR(*got.symmetry, -1, kRounding);
  EXPECT_NEAR(*got.identity_cosine, 0, kRounding);
  EXPECT_FALSE(got.positive_fraction.has_value());
  EXPECT_NEAR(*got.copying_score, 0, kRounding);
}

TEST(CircuitMeasures, IdentityCircuitHasZeroIdentityDistance) {
  for (const double scale : {1.0, -0.5, 3.0}) {
    const CircuitMeasures got =
        measure(identity_matrix(9, 9),
                made(9, 9, [&](auto row, auto col) { return row == col ? scale : 0.0; }));
    EXPECT_NEAR(*got.identity_cosine, scale > 0 ? 1 : -1, kRounding);
    EXPECT_NEAR(*got.identity_cosine_bound, 1, kRounding);
    EXPECT_NEAR(*got.identity_distance, 0, 1e-7);  // square root of a rounding error
    EXPECT_NEAR(*got.identity_scale, scale, kRounding);
    EXPECT_NEAR(*got.identity_residual, std::abs(scale - 1), 1e-7);
    EXPECT_NEAR(*got.symmetry, 1, kRounding);
    EXPECT_NEAR(*got.positive_fraction, scale > 0 ? 1 : 0, kRounding);
    EXPECT_NEAR(*got.copying_score, scale > 0 ? 1 : -1, kRounding);
  }
}

TEST(CircuitMeasures, ARotationOfBothFactorsChangesNothing) {
  const Matrix<double> left = gaussian_matrix(6, 30, 1), right = gaussian_matrix(6, 30, 2);
  const std::vector<double> ones(6, 1.0);
  const Matrix<double> rotation = matrix_with_singular_values(6, 6, ones, 3);
  const CircuitMeasures plain = measure(left, right);
  const CircuitMeasures turned = measure(naive_product(rotation.view(), left.view()),
                                         naive_product(rotation.view(), right.view()));
  EXPECT_NEAR(turned.frobenius_norm, plain.frobenius_norm, kRounding * plain.frobenius_norm);
  EXPECT_NEAR(*turned.identity_scale, *plain.identity_scale, kRounding * plain.frobenius_norm);
  for (const auto score : {&CircuitMeasures::identity_cosine, &CircuitMeasures::symmetry,
                           &CircuitMeasures::positive_fraction, &CircuitMeasures::copying_score}) {
    EXPECT_NEAR(*(turned.*score), *(plain.*score), 1e-10);
  }
  for (const auto values :
       {&CircuitMeasures::singular_values, &CircuitMeasures::head_space_singular_values,
        &CircuitMeasures::left_singular_values, &CircuitMeasures::right_singular_values}) {
    ASSERT_EQ((turned.*values).size(), (plain.*values).size());
  }
  const std::vector<double> thresholds = {0.5, 0.9};
  const Record one = circuit_fields(plain, {"q", "k"}, thresholds);
  const Record two = circuit_fields(turned, {"q", "k"}, thresholds);
  for (const char* name : {"energy_rank", "head_space_rank", "rank_drop"}) {
    for (const auto& [threshold, rank] : one.find(name)->get<Record>()->fields()) {
      EXPECT_EQ(*rank.get<std::int64_t>(),
                *two.find(name)->get<Record>()->find(threshold)->get<std::int64_t>());
    }
  }
}

TEST(CircuitMeasures, SupportsOneDimension) {
  const Matrix<double> left = made(1, 1, [](auto, auto) { return -2.0; });
  const Matrix<double> right = made(1, 1, [](auto, auto) { return 3.0; });
  const CircuitMeasures got = measure(left, right);
  EXPECT_EQ(*got.identity_cosine, -1);
  EXPECT_EQ(*got.identity_scale, -6);
  EXPECT_EQ(*got.identity_residual, 7);
  EXPECT_EQ(*got.symmetry, 1);
  EXPECT_EQ(*got.positive_fraction, 0);
  EXPECT_EQ(*got.copying_score, -1);
}

TEST(CircuitMeasures, ZeroFactorHasNoScores) {
  const CircuitMeasures got = measure(zero_matrix(3, 12), gaussian_matrix(3, 12, 1));
  EXPECT_EQ(got.frobenius_norm, 0);
  EXPECT_EQ(got.identity_scale, 0);
  EXPECT_EQ(got.identity_residual, 1);
  EXPECT_FALSE(got.identity_cosine || got.identity_distance || got.symmetry ||
               got.positive_fraction || got.copying_score);
  const Record row = circuit_fields(got, {"q", "k"}, std::vector<double>{0.9});
  EXPECT_EQ(*row.find("energy_rank")->get<Record>()->find("0.9")->get<std::int64_t>(), 0);
  EXPECT_EQ(*row.find("rank_drop")->get<Record>()->find("0.9")->get<std::int64_t>(), 3);
  EXPECT_EQ(*row.find("head_space_rank_drop")->get<Record>()->find("0.9")->get<std::int64_t>(), 0);
}

TEST(CircuitMeasures, RectangularCircuitHasOnlyRanksAndANorm) {
  const CircuitMeasures got = measure(gaussian_matrix(3, 12, 1), gaussian_matrix(3, 13, 2));
  EXPECT_GT(got.frobenius_norm, 0);
  EXPECT_EQ(got.max_possible_rank, 3);
  EXPECT_TRUE(got.head_space_singular_values.empty());
  EXPECT_FALSE(got.identity_cosine || got.identity_cosine_bound || got.identity_scale ||
               got.identity_residual || got.symmetry || got.positive_fraction || got.copying_score);
}

}  // namespace
}  // namespace attnscope
