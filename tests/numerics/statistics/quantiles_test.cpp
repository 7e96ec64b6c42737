#include "attnscope/numerics/statistics/quantiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "attnscope/features/weights/measures.h"

namespace attnscope {
namespace {

std::vector<double> gaussian_values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

std::vector<double> every(std::span<const double> values, std::size_t step) {
  std::vector<double> out;
  for (std::size_t at = 0; at < values.size(); at += step) out.push_back(values[at]);
  return out;
}

double by_sorting(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  const QuantilePosition position = quantile_position(std::ssize(values), fraction);
  return interpolate(values[static_cast<std::size_t>(position.below)],
                     values[static_cast<std::size_t>(position.above)], position.weight);
}

void expect_exact(const std::vector<double>& values, std::vector<double> sample) {
  QuantileSearch search(std::move(sample), kQuantiles, std::ssize(values), kFirstMargin);
  // In pieces, like blocks from a file.
  for (std::size_t at = 0; at < values.size(); at += 1000) {
    search.add(std::span(values).subspan(at, std::min<std::size_t>(1000, values.size() - at)));
  }
  EXPECT_EQ(search.count(), std::ssize(values));
  for (const double fraction : kQuantiles) {
    const auto found = search.quantile(fraction);
    ASSERT_TRUE(found) << fraction;
    EXPECT_EQ(*found, by_sorting(values, fraction)) << fraction;
  }
}

TEST(QuantileSearch, IsExactFromASample) {
  const std::vector<double> values = gaussian_values(200'000, 3);
  expect_exact(values, every(values, 37));
}

TEST(QuantileSearch, IsExactForAnyValues) {
  const std::size_t count = 60'000;
  std::vector<double> constant(count, 0.25), two_values(count), heavy = gaussian_values(count, 5),
                                                                rounded = gaussian_values(count, 6),
                                                                mostly_zero(count, 0.0);
  for (std::size_t at = 0; at < count; ++at) {
    two_values[at] = at % 3 == 0 ? 1 : -1;
    heavy[at] = heavy[at] * heavy[at] * heavy[at] * heavy[at] * heavy[at] * 1e8;
    rounded[at] = static_cast<double>(static_cast<int>(rounded[at] * 8)) / 8;
    if (at % 500 == 0) mostly_zero[at] = static_cast<double>(at);
  }
  for (const auto& values : {constant, two_values, heavy, rounded, mostly_zero}) {
    expect_exact(values, every(values, 17));
  }
}

TEST(QuantileSearch, IsExactForFewValues) {
  for (std::size_t count = 1; count < 40; ++count) {
    const std::vector<double> values = gaussian_values(count, count);
    expect_exact(values, values);
  }
}

TEST(QuantileSearch, DetectsAMisleadingSample) {
  const std::vector<double> values = gaussian_values(50'000, 9);
  std::vector<double> sample = every(values, 20);
  for (double& value : sample) value += 0.5;
  QuantileSearch misled(sample, kQuantiles, std::ssize(values), kFirstMargin);
  misled.add(values);
  EXPECT_FALSE(misled.quantile(0.5));

  // A margin that covers the whole sample keeps all values.
  QuantileSearch wide(sample, kQuantiles, std::ssize(values), 1e9);
  wide.add(values);
  for (const double fraction : kQuantiles) {
    EXPECT_EQ(wide.quantile(fraction), by_sorting(values, fraction));
  }
}

TEST(QuantileSearch, HasNoQuantileWithoutValues) {
  const std::array half = {0.5};
  QuantileSearch search({}, half, 0, kFirstMargin);
  EXPECT_FALSE(search.quantile(0.5));
  search.add(std::vector<double>{3, 1, 2});
  EXPECT_EQ(search.quantile(0.5), 2);
}

}  // namespace
}  // namespace attnscope
