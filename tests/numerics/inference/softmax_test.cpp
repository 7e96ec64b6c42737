#include "attnscope/numerics/inference/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/compute.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

/// Scores of every magnitude. Some exponentials are too small to affect the sum.
std::vector<float> scores(std::int64_t count, std::uint64_t seed) {
  const Matrix<double> row = gaussian_matrix(1, count, seed);
  std::vector<float> out;
  for (std::int64_t at = 0; at < count; ++at) {
    out.push_back(static_cast<float>(row(0, at) * (at % 3 == 0 ? 60 : 3)));
  }
  return out;
}

TEST(Softmax, SumsEqualFloat64) {
  for (const std::int64_t count : {1, 2, 7, 16, 31, 32, 33, 1000, 50257}) {
    const std::vector<float> x = scores(count, 1);
    double sum = 0;
    const float largest = *std::max_element(x.begin(), x.end());
    for (const float value : x) sum += std::exp(static_cast<double>(value - largest));
    const SoftmaxSum found = softmax_sum(x, test_compute());
    EXPECT_EQ(found.largest, largest);
    // Each exponential, of a difference rounded to float32, is correct to 1 ulp. Exponentials that
    // count as 0 are below e⁻⁸⁷.
    EXPECT_NEAR(found.log_sum, static_cast<double>(largest) + std::log(sum), 0x1p-23) << count;
  }
}

TEST(Softmax, AShiftOfAllScoresShiftsTheSum) {
  std::vector<float> x = scores(100, 2);
  const double before = softmax_sum(x, test_compute()).log_sum;
  for (float& value : x) value += 1024;  // rounds them to 2⁻¹⁴
  EXPECT_NEAR(softmax_sum(x, test_compute()).log_sum, before + 1024, 0x1p-13);
}

TEST(Softmax, WeightedDifferencesEqualFloat64) {
  for (const std::int64_t count : {1, 15, 16, 40, 50257}) {
    const std::vector<float> a = scores(count, 3), b = scores(count, 4);
    std::vector<float> weights;
    double sum = 0, sizes = 0;
    for (std::size_t at = 0; at < a.size(); ++at) {
      weights.push_back(1.0F / static_cast<float>(at + 1));
      const double term = static_cast<double>(weights[at]) *
                          (static_cast<double>(a[at]) - static_cast<double>(b[at]));
      sum += term;
      sizes += std::abs(term);
    }
    // A difference and a product, each rounded to float32.
    EXPECT_NEAR(weighted_difference(weights, a, b, test_compute()), sum, 0x1p-23 * sizes) << count;
  }
}

TEST(Softmax, Float64ExponentialsEqualTheStandardLibrary) {
  for (const std::int64_t count : {1, 2, 7, 8, 9, 15, 1000, 50257}) {
    const std::vector<float> x = scores(count, 5);
    const auto largest = static_cast<double>(*std::max_element(x.begin(), x.end()));
    double sum = 0, weighted = 0;
    for (const float value : x) {
      const double below = static_cast<double>(value) - largest;
      sum += std::exp(below);
      weighted += std::exp(below) * below;
    }
    const ExponentialSums found = float64_exponentials(x, largest, test_compute());
    // Each exponential is within 2 ulp. The terms are positive and summed in two orders, so the sum
    // differs by at most half an ulp per addition.
    const double tolerance = 0x1p-52 * (2 + static_cast<double>(count));
    EXPECT_NEAR(found.sum, sum, tolerance * sum) << count;
    EXPECT_NEAR(found.weighted, weighted, 2 * tolerance * std::abs(weighted)) << count;
  }
}

TEST(Softmax, ADivergenceInFloat64EqualsTheDefinition) {
  for (const std::int64_t count : {1, 7, 8, 9, 50257}) {
    const std::vector<float> a = scores(count, 6), b = scores(count, 7);
    const auto log_sum_of = [](const std::vector<float>& x) {
      const auto largest = static_cast<double>(*std::max_element(x.begin(), x.end()));
      return largest + std::log(float64_exponentials(x, largest, test_compute()).sum);
    };
    const double log_a = log_sum_of(a), log_b = log_sum_of(b);
    double sum = 0, sizes = 0;
    for (std::size_t at = 0; at < a.size(); ++at) {
      const double of_a = static_cast<double>(a[at]) - log_a;
      const double term = std::exp(of_a) * (of_a - (static_cast<double>(b[at]) - log_b));
      sum += term;
      sizes += std::abs(term);
    }
    EXPECT_NEAR(float64_divergence(a, log_a, b, log_b, test_compute()), sum,
                0x1p-52 * (4 + static_cast<double>(count)) * sizes)
        << count;
    EXPECT_NEAR(float64_divergence(a, log_a, a, log_a, test_compute()), 0, 1e-300) << count;
  }
}

}  // namespace
}  // namespace attnscope
