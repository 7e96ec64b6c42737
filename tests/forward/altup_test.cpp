// Sparse gates of Gemma 3n. AltUp and LAuReL are compared with transformers in golden_test.cpp.
#include "attnscope/forward/altup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace attnscope {
namespace {

TEST(CutGates, ZeroesGatesBelowTheMeanPlusDeviations) {
  // Mean 2.5, standard deviation √1.25, then the same gates times 100 plus 7.
  const float gates[] = {1, 2, 3, 4};
  for (const double cutoff : {0.0, 0.5, -3.0, 2.0}) {
    Matrix<float> rows(2, 4);
    for (std::int64_t col = 0; col < 4; ++col) {
      rows(0, col) = gates[col];
      rows(1, col) = 100 * gates[col] + 7;
    }
    cut_gates(cutoff, rows.view());
    for (std::int64_t col = 0; col < 4; ++col) {
      const double off = static_cast<double>(gates[col]) - 2.5 - cutoff * std::sqrt(1.25);
      const double wanted = std::max(off, 0.0);
      EXPECT_NEAR(static_cast<double>(rows(0, col)), wanted, 1e-6) << cutoff;
      EXPECT_NEAR(static_cast<double>(rows(1, col)), 100 * wanted, 1e-4) << cutoff;
    }
  }
}

TEST(CutGates, EqualGatesBecomeZero) {
  Matrix<float> rows(1, 3);
  for (std::int64_t col = 0; col < 3; ++col) rows(0, col) = 0.1F;
  cut_gates(1.6, rows.view());
  for (std::int64_t col = 0; col < 3; ++col) EXPECT_NEAR(rows(0, col), 0, 1e-7);
}

}  // namespace
}  // namespace attnscope
