#include "attnscope/features/attention/activations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace attnscope {
namespace {

TEST(LargestActivation, ReportsTheMaximumAndTheMedianMagnitude) {
  Matrix<float> states(2, 3);
  const float values[] = {1, -2, 3, -400, 5, 6};
  std::copy(std::begin(values), std::end(values), states.data());
  const LargestActivation found = largest_activation(states.view());
  EXPECT_EQ(found.magnitude, 400);
  EXPECT_EQ(found.median, 4);  // of 1 2 3 5 6 400
  EXPECT_EQ(found.dimension, 0);
  EXPECT_EQ(found.position, 1);
}

TEST(LargestActivation, ReportsTheFirstOfEqualMaxima) {
  Matrix<float> states(3, 1);
  states(0, 0) = 1;
  states(1, 0) = -7;
  states(2, 0) = 7;
  const LargestActivation found = largest_activation(states.view());
  EXPECT_EQ(found.median, 7);
  EXPECT_EQ(found.position, 1);
}

TEST(LargestActivation, HasAMedianOfZeroForZeros) {
  Matrix<float> states(2, 2);
  std::fill_n(states.data(), 4, 0.0F);
  EXPECT_EQ(largest_activation(states.view()).magnitude, 0);
  EXPECT_EQ(largest_activation(states.view()).median, 0);
}

TEST(OutlierDimensions, ListsFrequentDimensionsFirst) {
  // Dimension 0 is never large. Dimension 1 is large at 5 of 100 positions, 2 at 6, and 3 at 50
  // with the other sign.
  Matrix<float> states(100, 4);
  for (std::int64_t row = 0; row < 100; ++row) {
    states(row, 0) = 5.99F;
    states(row, 1) = row < 5 ? 9.0F : 0.0F;
    states(row, 2) = row < 6 ? 6.0F : 0.0F;
    states(row, 3) = row < 50 ? -8.0F : 1.0F;
  }
  std::vector<std::int64_t> counts(4);
  count_outliers(states.view(), counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{0, 5, 6, 50}));
  EXPECT_EQ(outlier_dimensions(counts, 100), (std::vector<std::int64_t>{3, 2}));
  EXPECT_TRUE(outlier_dimensions(std::vector<std::int64_t>(4), 0).empty());
}

}  // namespace
}  // namespace attnscope
