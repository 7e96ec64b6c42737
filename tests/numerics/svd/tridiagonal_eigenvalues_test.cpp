// Eigenvalues of tridiagonal matrices, compared with known ones and with LAPACK.
#include "attnscope/numerics/svd/tridiagonal_eigenvalues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "attnscope/numerics/lapack/lapack.h"
#include "tests/support/compute.h"

namespace attnscope {
namespace {

using namespace test;

class TridiagonalEigenvalues : public testing::Test {
 protected:
  void SetUp() override {
    if (!test_compute().kernels.available()) GTEST_SKIP() << "no kernels for this CPU";
  }
};

double norm_bound(const std::vector<double>& diagonal, const std::vector<double>& off) {
  double bound = 0;
  for (std::size_t at = 0; at < diagonal.size(); ++at) {
    bound = std::max(bound, std::abs(diagonal[at]) + (at > 0 ? std::abs(off[at - 1]) : 0) +
                                (at + 1 < diagonal.size() ? std::abs(off[at]) : 0));
  }
  return bound;
}

/// Both have an error of a few roundings of the norm, and LAPACK of about one per row.
void expect_as_lapack(const std::vector<double>& diagonal, const std::vector<double>& off) {
  const std::size_t n = diagonal.size();
  std::vector<double> lower(n * n, 0.0);
  for (std::size_t at = 0; at < n; ++at) {
    lower[at * n + at] = diagonal[at];
    if (at + 1 < n) lower[at * n + at + 1] = off[at];
  }
  const auto expected = lapack::symmetric_eigenvalues(static_cast<std::int64_t>(n), lower.data());
  const std::vector<double> got = tridiagonal_eigenvalues(diagonal, off, test_compute());
  ASSERT_EQ(got.size(), n);
  ASSERT_TRUE(std::is_sorted(got.begin(), got.end()));
  const double tolerance = (8 + static_cast<double>(n)) * 0x1p-52 * norm_bound(diagonal, off);
  for (std::size_t at = 0; at < n; ++at) {
    ASSERT_NEAR(got[at], (*expected)[at], tolerance) << "value " << at << " of " << n;
  }
}

TEST_F(TridiagonalEigenvalues, MatchTheKnownValuesOfTheSecondDifference) {
  for (const std::size_t n : {1, 2, 3, 4, 31, 32, 33, 100, 777}) {
    const std::vector<double> values = tridiagonal_eigenvalues(
        std::vector<double>(n, 2.0), std::vector<double>(n - 1, -1.0), test_compute());
    for (std::size_t at = 0; at < n; ++at) {
      const double angle =
          std::numbers::pi * static_cast<double>(at + 1) / static_cast<double>(n + 1);
      ASSERT_NEAR(values[at], 2 - 2 * std::cos(angle), 1e-14) << at << " of " << n;
    }
  }
}

TEST_F(TridiagonalEigenvalues, AgreeWithLapackOnRandomMatrices) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (std::size_t n = 1; n <= 150; n += n < 40 ? 1 : 11) {
    std::vector<double> diagonal(n), off(n - 1);
    for (double& value : diagonal) value = normal(random);
    for (double& value : off) value = normal(random);
    expect_as_lapack(diagonal, off);
    if (HasFatalFailure()) return;
  }
}

TEST_F(TridiagonalEigenvalues, SupportClustersSplitsAndDecay) {
  constexpr std::size_t kOrder = 90;
  std::vector<double> ones(kOrder, 1.0), zeros(kOrder - 1, 0.0), decay(kOrder), small(kOrder - 1);
  std::vector<double> wilkinson(kOrder), glue(kOrder - 1, 1.0);
  for (std::size_t at = 0; at < kOrder; ++at) {
    decay[at] = std::pow(0.3, static_cast<double>(at));
    if (at + 1 < kOrder) small[at] = decay[at] / 4;
    wilkinson[at] = std::abs(static_cast<double>(at % 30) - 14.5);
    if (at % 30 == 29 && at + 1 < kOrder) glue[at] = 1e-9;
  }
  expect_as_lapack(ones, zeros);                              // one value, ninety times
  expect_as_lapack(std::vector<double>(kOrder, 0.0), zeros);  // all zeros
  expect_as_lapack(std::vector<double>(kOrder, 0.0), glue);   // in pairs ± around zero
  expect_as_lapack(decay, small);
  expect_as_lapack(decay, zeros);
  expect_as_lapack(wilkinson, glue);  // pairs that agree to many digits, three times
  expect_as_lapack(ones, small);
}

TEST_F(TridiagonalEigenvalues, ScaleWithTheMatrix) {
  std::vector<double> diagonal = {1, -2, 3, 0.5}, off = {0.25, 2, -1};
  const std::vector<double> values = tridiagonal_eigenvalues(diagonal, off, test_compute());
  for (const int exponent : {-900, -1, 1, 900}) {
    std::vector<double> scaled_diagonal, scaled_off, expected;
    for (const double value : diagonal) scaled_diagonal.push_back(std::ldexp(value, exponent));
    for (const double value : off) scaled_off.push_back(std::ldexp(value, exponent));
    for (const double value : values) expected.push_back(std::ldexp(value, exponent));
    EXPECT_EQ(tridiagonal_eigenvalues(scaled_diagonal, scaled_off, test_compute()), expected)
        << exponent;
  }
}

}  // namespace
}  // namespace attnscope
