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

/// Scores of every size: exponentials that count, and some that are too small to.
std::vector<float> scores(std::int64_t count, std::uint64_t seed) {
  const Matrix<double> row = gaussian_matrix(1, count, seed);
  std::vector<float> out;
  for (std::int64_t at = 0; at < count; ++at) {
    out.push_back(static_cast<float>(row(0, at) * (at % 3 == 0 ? 60 : 3)));
  }
  return out;
}

TEST(Softmax, SumsAreThoseOfFloat64) {
  for (const std::int64_t count : {1, 2, 7, 16, 31, 32, 33, 1000, 50257}) {
    const std::vector<float> x = scores(count, 1);
    double sum = 0;
    const float largest = *std::max_element(x.begin(), x.end());
    for (const float value : x) sum += std::exp(static_cast<double>(value - largest));
    const SoftmaxSum found = softmax_sum(x, test_compute());
    EXPECT_EQ(found.largest, largest);
    // Each exponential, of a difference rounded to float32, is right to 1 ulp; and the small ones
    // that count as 0 are below e⁻⁸⁷.
    EXPECT_NEAR(found.log_sum, static_cast<double>(largest) + std::log(sum), 0x1p-23) << count;
  }
}

TEST(Softmax, AShiftOfAllScoresShiftsTheSum) {
  std::vector<float> x = scores(100, 2);
  const double before = softmax_sum(x, test_compute()).log_sum;
  for (float& value : x) value += 1024;  // rounds them to 2⁻¹⁴
  EXPECT_NEAR(softmax_sum(x, test_compute()).log_sum, before + 1024, 0x1p-13);
}

TEST(Softmax, WeightedDifferencesAreThoseOfFloat64) {
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

}  // namespace
}  // namespace attnscope
