// Sums over maps by the kernels and by plain loops, for weights of every magnitude.
#include "attnscope/numerics/attention_maps/map_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

MapSums sums_of(const Matrix<float>& map, bool causal, std::vector<double>& squares) {
  return sum_map(map.view(), causal, squares, test_compute());
}

TEST(MapSums, TakeLogarithmsOfEveryWeight) {
  std::vector<double> squares;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> mantissa(0.5F, 1.0F);
  Matrix<float> weight(1, 1);
  const auto expect_entropy = [&] {
    const double x = weight(0, 0);
    const double expected = x > 0 ? -x * std::log(x) : 0;
    EXPECT_NEAR(sums_of(weight, false, squares).entropy, expected, 1e-11 * std::abs(expected)) << x;
    EXPECT_EQ(squares, std::vector<double>{x * x});
  };
  for (const float x : {0.0F, 1.0F, 0.70710677F, 0.70710684F, 0.5F, 0x1p-126F, 0x1p-149F}) {
    weight(0, 0) = x;
    expect_entropy();
  }
  for (int exponent = 0; exponent > -148; --exponent) {
    weight(0, 0) = std::ldexp(mantissa(random), exponent);
    expect_entropy();
  }
}

TEST(MapSums, CausalMapsAreNotReadAboveTheDiagonal) {
  for (const std::int64_t size : {1, 7, 8, 9, 31}) {
    Matrix<float> map(size, size);
    double distance = 0, entropy = 0;
    for (std::int64_t row = 0; row < size; ++row) {
      for (std::int64_t col = 0; col < size; ++col) {
        const float weight = 1.0F / static_cast<float>(row + 1);
        map(row, col) = col <= row ? weight : std::nanf("");
        if (col > row) continue;
        distance += static_cast<double>(weight) * static_cast<double>(row - col);
        entropy -= static_cast<double>(weight) * std::log(static_cast<double>(weight));
      }
    }
    std::vector<double> squares;
    const MapSums got = sums_of(map, true, squares);
    EXPECT_NEAR(got.distance, distance, 1e-13 * distance);
    EXPECT_NEAR(got.entropy, entropy, 1e-11 * entropy);
    ASSERT_EQ(std::ssize(squares), size);
    EXPECT_NEAR(squares.back(), std::pow(static_cast<double>(map(size - 1, 0)), 2), 1e-16);
  }
}

}  // namespace
}  // namespace attnscope
