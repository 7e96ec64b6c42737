#include "attnscope/analysis/distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace attnscope {
namespace {

Moments streamed(const std::vector<double>& values) {
  MomentSums sums(values);
  sums.add(values);
  EXPECT_TRUE(sums.all_finite());
  return sums.moments();
}

std::vector<ValueCount> each_once(const std::vector<double>& ascending) {
  std::vector<ValueCount> out;
  for (const double value : ascending) out.push_back({value, 1});
  return out;
}

TEST(Moments, OfFourNumbersByHand) {
  // Deviations -3, -1, 1, 3 but for the last: 1, 2, 3, 10 has mean 4, deviations -3, -2, -1, 6.
  const std::vector<double> values = {1, 2, 3, 10};
  const double m2 = 12.5, m3 = 45, m4 = 348.5;
  for (const Moments& moments : {moments_of(each_once(values)), streamed(values)}) {
    EXPECT_EQ(moments.count, 4);
    EXPECT_EQ(moments.min, 1);
    EXPECT_EQ(moments.max, 10);
    EXPECT_NEAR(moments.mean, 4, 1e-15);
    EXPECT_NEAR(moments.std, std::sqrt(m2), 1e-14);
    EXPECT_NEAR(*moments.skewness, m3 / std::pow(m2, 1.5), 1e-14);
    EXPECT_NEAR(*moments.excess_kurtosis, m4 / (m2 * m2) - 3, 1e-14);
  }
}

TEST(Moments, OfEqualValuesHaveNoShape) {
  const std::vector<double> values(7, 0.1);
  for (const Moments& moments : {moments_of(std::vector<ValueCount>{{0.1, 7}}), streamed(values)}) {
    EXPECT_EQ(moments.mean, 0.1);
    EXPECT_EQ(moments.std, 0);
    EXPECT_FALSE(moments.skewness);
    EXPECT_FALSE(moments.excess_kurtosis);
  }
}

TEST(Moments, SurviveScaleAndOffset) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  std::vector<double> plain(5000);
  for (double& value : plain) value = std::exp(normal(random));
  const Moments expected = streamed(plain);
  const struct {
    double scale, offset, tolerance;
  } cases[] = {
      {0x1p-1000, 0, 1e-12},
      {0x1p+1000, 0, 1e-12},
      // 2^-52 of the offset is lost where values are made, 1e-10 of the spread.
      {1, 0x1p20, 1e-8},
  };
  for (const auto& [scale, offset, tolerance] : cases) {
    std::vector<double> values = plain;
    for (double& value : values) value = value * scale + offset;
    const Moments moments = streamed(values);
    EXPECT_NEAR((moments.mean - offset) / scale, expected.mean, tolerance);
    EXPECT_NEAR(moments.std / scale, expected.std, tolerance);
    EXPECT_NEAR(*moments.skewness, *expected.skewness, tolerance * 10);
    EXPECT_NEAR(*moments.excess_kurtosis, *expected.excess_kurtosis, tolerance * 100);
  }
}

TEST(Moments, DoNotHangOnTheSample) {
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  std::vector<double> values(10'000);
  for (double& value : values) value = normal(random);
  const Moments expected = streamed(values);
  for (const std::vector<double>& sample : {std::vector<double>{}, {5.0}, {-1.0, 3.0, 0.5}}) {
    MomentSums sums(sample);
    sums.add(std::span(values).first(17));
    sums.add(std::span(values).subspan(17));
    const Moments moments = sums.moments();
    EXPECT_NEAR(moments.mean, expected.mean, 1e-13);
    EXPECT_NEAR(moments.std, expected.std, 1e-12);
    EXPECT_NEAR(*moments.excess_kurtosis, *expected.excess_kurtosis, 1e-9);
  }
}

TEST(Moments, NoticeWhatIsNotFinite) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (const std::size_t at : {0, 3, 6}) {
      std::vector<double> values(7, 1.0);
      MomentSums sums(values);
      values[at] = bad;
      sums.add(values);
      EXPECT_FALSE(sums.all_finite());
    }
  }
}

}  // namespace
}  // namespace attnscope
