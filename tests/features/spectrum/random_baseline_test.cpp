// The random baseline, compared with published fractions, another quadrature, and random matrices.
#include "attnscope/features/spectrum/random_baseline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;
using nlohmann::json;

std::int64_t random_rank(const SpectrumShape& shape, double threshold) {
  return RandomBaseline(shape).energy_rank(threshold).value();
}

json golden_baseline() {
  std::ifstream file(std::string(ATTNSCOPE_SOURCE_DIR) +
                     "/tests/golden/random_baseline/curves.json");
  return json::parse(file).at("nulls");
}

SpectrumShape shape_of(const json& row) {
  return {.rows = row.at("shape").at(0),
          .cols = row.at("shape").at(1),
          .inner = row.at("inner").is_null() ? 0 : row.at("inner").get<std::int64_t>()};
}

// ---- Published values ---------------------------------------------------------------------------

TEST(RandomBaseline, EqualsThePublishedFractions) {
  const std::vector<double> thresholds = {0.6, 0.8, 0.9, 0.99};
  const struct {
    std::int64_t rows, cols;
    std::vector<double> fractions;
  } cases[] = {
      {4096, 4096, {0.236, 0.387, 0.510, 0.771}},  {2048, 4096, {0.318, 0.513, 0.664, 0.927}},
      {4096, 14336, {0.378, 0.593, 0.746, 0.961}}, {1024, 4096, {0.392, 0.609, 0.761, 0.965}},
      {512, 4096, {0.450, 0.675, 0.816, 0.978}},   {64, 768, {0.478, 0.701, 0.836, 0.981}},
      {4096, 1024, {0.392, 0.609, 0.761, 0.965}},
  };
  for (const auto& known : cases) {
    const double possible = static_cast<double>(std::min(known.rows, known.cols));
    for (std::size_t index = 0; index < thresholds.size(); ++index) {
      const double rank = static_cast<double>(
          random_rank({.rows = known.rows, .cols = known.cols}, thresholds[index]));
      // The rank is the next integer above a fraction that is published with three digits.
      EXPECT_GE(rank, (known.fractions[index] - 0.0005) * possible)
          << known.rows << " x " << known.cols;
      EXPECT_LE(rank, (known.fractions[index] + 0.0005) * possible + 1)
          << known.rows << " x " << known.cols;
    }
  }
  EXPECT_EQ(random_rank({.rows = 1024, .cols = 4096}, 0.9), 780);
}

TEST(RandomBaseline, AgreesWithTheDensitiesOnAGrid) {
  // The grid has an error below 1e-6 of the share, and the integration below 1e-5. The largest
  // error occurs for a square product, whose density has a pole at 0.
  constexpr double kShare = 2e-5;
  for (const json& row : golden_baseline()) {
    const SpectrumShape shape = shape_of(row);
    SCOPED_TRACE(row.at("shape").dump() + " " + row.at("inner").dump());
    const RandomBaseline baseline(shape);
    const double possible = static_cast<double>(shape.max_possible_rank());
    for (const auto& [threshold, share] : row.at("rank_share").items()) {
      const auto rank = static_cast<double>(baseline.energy_rank(std::stod(threshold)).value());
      EXPECT_GE(rank, (share.get<double>() - kShare) * possible) << threshold;
      EXPECT_LE(rank, (share.get<double>() + kShare) * possible + 1) << threshold;
    }
    for (const auto& [rank, energy] : row.at("energy_at").items()) {
      EXPECT_NEAR(baseline.energy_at(std::stoll(rank)).value(), energy.get<double>(), kShare)
          << rank;
    }
  }
}

TEST(RandomBaseline, AgreesWithRandomMatrices) {
  // The law holds for large shapes. For k values, the energy is too low by about 1 / (2 k), because
  // the edges of the spectrum spread. The mean of 40 draws adds about 1 / (k sqrt(40)).
  for (const json& row : golden_baseline()) {
    if (row.at("drawn_energy_at").is_null()) continue;
    const SpectrumShape shape = shape_of(row);
    SCOPED_TRACE(row.at("shape").dump() + " " + row.at("inner").dump());
    const double tolerance =
        (0.5 + 1 / std::sqrt(40.0)) / static_cast<double>(shape.max_possible_rank());
    for (const auto& [rank, energy] : row.at("drawn_energy_at").items()) {
      EXPECT_NEAR(RandomBaseline(shape).energy_at(std::stoll(rank)).value(), energy.get<double>(),
                  tolerance)
          << rank;
    }
  }
}

TEST(RandomBaseline, EqualsTheRanksOfGaussianMatrices) {
  const auto expect_near_random = [](const SpectrumShape& shape, const std::vector<double>& values,
                                     double within) {
    for (const double threshold : {0.6, 0.8, 0.9, 0.99}) {
      EXPECT_NEAR(static_cast<double>(energy_rank(values, threshold)),
                  static_cast<double>(random_rank(shape, threshold)),
                  std::max(1.0, within * static_cast<double>(shape.max_possible_rank())))
          << threshold;
    }
  };
  const Matrix<double> wide = gaussian_matrix(256, 1024, 1);
  expect_near_random({.rows = 256, .cols = 1024}, singular_values(wide.view()).values, 0.01);
  const Matrix<double> square = gaussian_matrix(200, 200, 2);
  expect_near_random({.rows = 200, .cols = 200}, singular_values(square.view()).values, 0.01);
  const Matrix<double> left = gaussian_matrix(64, 256, 3), right = gaussian_matrix(64, 256, 4);
  expect_near_random({.rows = 256, .cols = 256, .inner = 64},
                     product_singular_values(left.view(), right.view()).values, 0.03);
}

// A realistic size: W_K of Llama 3 8B.
TEST(RandomBaseline, IsWithinOnePercentForALargeMatrix) {
  const Matrix<double> matrix = gaussian_matrix(1024, 4096, 5);
  const std::vector<double> values = singular_values(matrix.view()).values;
  for (const double threshold : {0.6, 0.8, 0.9, 0.99}) {
    const auto baseline = static_cast<double>(random_rank({.rows = 1024, .cols = 4096}, threshold));
    EXPECT_NEAR(static_cast<double>(energy_rank(values, threshold)) / baseline, 1, 0.01)
        << threshold;
  }
}

// ---- Properties ---------------------------------------------------------------------------------

const SpectrumShape kShapes[] = {{.rows = 1, .cols = 1},
                                 {.rows = 1, .cols = 9},
                                 {.rows = 9, .cols = 1},
                                 {.rows = 2, .cols = 2},
                                 {.rows = 7, .cols = 5000},
                                 {.rows = 300, .cols = 300},
                                 {.rows = 1000, .cols = 1001},
                                 {.rows = 1, .cols = 1'000'000'000},
                                 {.rows = 1'000'000'000, .cols = 1'000'000'000},
                                 {.rows = 1, .cols = 1, .inner = 1},
                                 {.rows = 64, .cols = 64, .inner = 1},
                                 {.rows = 1, .cols = 1, .inner = 64},
                                 {.rows = 768, .cols = 768, .inner = 64},
                                 {.rows = 300, .cols = 300, .inner = 300},
                                 {.rows = 300, .cols = 300, .inner = 301},
                                 {.rows = 300, .cols = 300, .inner = 299},
                                 {.rows = 32, .cols = 32, .inner = 4000}};

TEST(RandomBaseline, IncreasesWithTheThresholdUpToTheMaximum) {
  for (const SpectrumShape& shape : kShapes) {
    SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.cols) + ", " +
                 std::to_string(shape.inner));
    const RandomBaseline baseline(shape);
    std::int64_t before = 1;
    for (const double threshold : {1e-300, 1e-9, 0.01, 0.5, 0.9, 0.99, 0.9999, 1 - 0x1p-53}) {
      const std::int64_t rank = baseline.energy_rank(threshold).value();
      EXPECT_GE(rank, before) << threshold;
      EXPECT_LE(rank, shape.max_possible_rank()) << threshold;
      before = rank;
    }
  }
}

TEST(RandomBaseline, EnergyAndRankAreInverse) {
  for (const SpectrumShape& shape : kShapes) {
    if (shape.max_possible_rank() > 1000) continue;
    SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.cols) + ", " +
                 std::to_string(shape.inner));
    const RandomBaseline baseline(shape);
    double before = 0;
    for (std::int64_t rank = 1; rank < shape.max_possible_rank(); rank += 1 + rank / 4) {
      const double energy = baseline.energy_at(rank).value();
      EXPECT_GT(energy, before);
      EXPECT_LT(energy, 1 + 1e-15);
      before = energy;
      if (energy > 1 - 1e-7) continue;
      EXPECT_EQ(baseline.energy_rank(energy - 1e-10), rank);
      EXPECT_GE(baseline.energy_rank(energy + 1e-8).value(), rank);
    }
    EXPECT_EQ(baseline.energy_at(shape.max_possible_rank()), 1);
    EXPECT_EQ(baseline.energy_at(shape.max_possible_rank() + 5), 1);
  }
}

TEST(RandomBaseline, TranspositionChangesNothing) {
  for (const double threshold : {0.6, 0.9, 0.99}) {
    EXPECT_EQ(random_rank({.rows = 64, .cols = 768}, threshold),
              random_rank({.rows = 768, .cols = 64}, threshold));
  }
}

TEST(RandomBaseline, AThinMatrixNeedsTheShareItself) {
  // All singular values of a matrix with k << n are similar.
  EXPECT_EQ(random_rank({.rows = 100, .cols = 1'000'000'000}, 0.55), 55);
  EXPECT_EQ(random_rank({.rows = 100, .cols = 1'000'000'000}, 0.895), 90);
}

// ---- Singular values ----------------------------------------------------------------------------

TEST(RandomBaseline, ExpectedSingularValuesMatchTheEnergyCurveAndDecrease) {
  for (const SpectrumShape& shape : kShapes) {
    if (shape.max_possible_rank() > 10'000) continue;
    // For a nearly square product, the panels of energy_at are too wide for the density.
    if (shape.inner == 299 || shape.inner == 301) continue;
    SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.cols) + ", " +
                 std::to_string(shape.inner));
    constexpr double kNorm = 3;
    const RandomBaseline baseline(shape);
    const std::vector<double> values = baseline.singular_values(kNorm);
    ASSERT_EQ(std::ssize(values), shape.max_possible_rank());
    double energy = 0, before = kNorm;
    for (std::size_t index = 0; index < values.size(); ++index) {
      EXPECT_LE(values[index], before * (1 + 1e-12));
      EXPECT_GT(values[index], 0);
      before = values[index];
      energy += values[index] * values[index] / (kNorm * kNorm);
      // Quadrature for the pole of a square product; closed forms otherwise.
      ASSERT_NEAR(energy, baseline.energy_at(static_cast<std::int64_t>(index) + 1).value(), 2e-9);
    }
    EXPECT_NEAR(energy, 1, 1e-12);
  }
}

TEST(RandomBaseline, ExpectedSingularValuesEqualThoseOfRandomMatrices) {
  const auto expect_near = [](const SpectrumShape& shape, const std::vector<double>& drawn) {
    double norm = 0;
    for (const double value : drawn) norm = std::hypot(norm, value);
    const std::vector<double> expected = RandomBaseline(shape).singular_values(norm);
    ASSERT_EQ(drawn.size(), expected.size());
    // For a single draw, the largest value deviates by about k^(-2/3), the others by 1 / k.
    const double tolerance = drawn.front() * std::pow(static_cast<double>(drawn.size()), -2.0 / 3);
    for (std::size_t index = 0; index < drawn.size(); ++index) {
      EXPECT_NEAR(drawn[index], expected[index], tolerance) << index;
    }
  };
  const Matrix<double> wide = gaussian_matrix(256, 1024, 1), square = gaussian_matrix(300, 300, 2);
  expect_near({.rows = 256, .cols = 1024}, singular_values(wide.view()).values);
  expect_near({.rows = 300, .cols = 300}, singular_values(square.view()).values);
  const Matrix<double> left = gaussian_matrix(64, 256, 3), right = gaussian_matrix(64, 256, 4);
  expect_near({.rows = 256, .cols = 256, .inner = 64},
              product_singular_values(left.view(), right.view()).values);
  const Matrix<double> a = gaussian_matrix(299, 300, 5), b = gaussian_matrix(299, 300, 6);
  expect_near({.rows = 300, .cols = 300, .inner = 299},
              product_singular_values(a.view(), b.view()).values);
}

TEST(RandomBaseline, ExpectedSingularValuesOfASquareMatrixFollowTheQuarterCircle) {
  // For Σσ² = k, σ has the density sqrt(4 − σ²) / π, whose share above s is known.
  constexpr std::int64_t kOrder = 2000;
  const std::vector<double> values = RandomBaseline({.rows = kOrder, .cols = kOrder})
                                         .singular_values(std::sqrt(static_cast<double>(kOrder)));
  for (std::size_t index = 0; index < values.size(); ++index) {
    const double s = values[index];
    const double below =
        (s * std::sqrt(std::max(4 - s * s, 0.0)) / 2 + 2 * std::asin(s / 2)) / std::acos(-1.0);
    const double share = (static_cast<double>(index) + 0.5) / static_cast<double>(kOrder);
    // The root mean square of an interval differs from the value at its midpoint. For the smallest
    // value, the difference is (1 / sqrt(3) − 1 / 2) / k.
    EXPECT_NEAR(1 - below, share, 0.08 / static_cast<double>(kOrder)) << index;
  }
}

TEST(RandomBaseline, IsEmptyForAnEmptyShape) {
  for (const SpectrumShape& empty : {SpectrumShape{}, SpectrumShape{.rows = 0, .cols = 4},
                                     SpectrumShape{.rows = 4, .cols = 0}}) {
    EXPECT_EQ(RandomBaseline(empty).energy_rank(0.9), std::nullopt);
    EXPECT_EQ(RandomBaseline(empty).energy_at(1), std::nullopt);
    EXPECT_TRUE(RandomBaseline(empty).singular_values(1).empty());
  }
}

}  // namespace
}  // namespace attnscope
