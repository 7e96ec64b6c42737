#include "attnscope/numerics/statistics/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "attnscope/features/weights/measures.h"

namespace attnscope {
namespace {

using nlohmann::json;

std::vector<ValueCount> counted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<ValueCount> out;
  for (const double value : values) {
    if (out.empty() || out.back().value != value) out.push_back({value, 0});
    ++out.back().count;
  }
  return out;
}

BinRule rule_of(const json& wanted) {
  BinRule rule;
  if (wanted.at("bins") == "fd") {
    rule.freedman_diaconis = true;
  } else {
    rule.bins = wanted.at("bins");
  }
  if (!wanted.at("range").is_null()) {
    rule.range = ValueRange{wanted.at("range")[0], wanted.at("range")[1]};
  }
  return rule;
}

// Test vectors computed with NumPy by tools/golden_weights.py, exact to the last digit.
TEST(Histogram, EqualsNumPyOnDifficultValues) {
  std::ifstream file(std::filesystem::path(ATTNSCOPE_SOURCE_DIR) /
                     "tests/golden/numpy/histograms.json");
  const json cases = json::parse(file);
  ASSERT_GE(cases.size(), 16u);
  int compared = 0;
  for (const json& one : cases) {
    const std::vector<double> values = one.at("values");
    for (const json& wanted : one.at("histograms")) {
      SCOPED_TRACE(one.at("name").dump() + ", bins " + wanted.at("bins").dump() + ", range " +
                   wanted.at("range").dump());
      const BinRule rule = rule_of(wanted);
      const Bins bins = choose_bins(rule, spread_of(counted(values), rule));
      ASSERT_EQ(bins.edges, wanted.at("edges").get<std::vector<double>>());
      Histogram histogram(bins.edges);
      histogram.add(values);
      EXPECT_EQ(histogram.counts(), wanted.at("counts").get<std::vector<std::int64_t>>());
      std::int64_t inside = 0;
      for (const std::int64_t count : histogram.counts()) inside += count;
      EXPECT_EQ(inside + histogram.outside(), std::ssize(values));
      ++compared;

      // One pass in any order gives the same bins.
      SpreadSearch search(rule, values, std::ssize(values), kFirstMargin);
      search.add(values);
      const auto spread = search.spread();
      ASSERT_TRUE(spread);
      EXPECT_EQ(choose_bins(rule, *spread).edges, bins.edges);
    }
    EXPECT_EQ(quantiles_of(counted(values), kQuantiles),
              one.at("quantiles").get<std::vector<double>>())
        << one.at("name");
  }
  EXPECT_GE(compared, 70);
}

TEST(Histogram, CapsFreedmanDiaconisBinsAndReportsIt) {
  const Bins bins = choose_bins(
      {.freedman_diaconis = true},
      {.count = 1000, .min = 0, .max = 1e6, .lower_quartile = 1, .upper_quartile = 1.1});
  EXPECT_EQ(std::ssize(bins.edges), kMaxBins + 1);
  EXPECT_NE(bins.note.find("65536"), std::string::npos) << bins.note;
}

TEST(Histogram, ReportsEdgesThatFloat64CannotRepresent) {
  const double next = std::nextafter(1.0, 2.0);
  const Spread neighbors = {
      .count = 8, .min = 1, .max = next, .lower_quartile = 1, .upper_quartile = next};
  const Bins close = choose_bins({.bins = 4}, neighbors);
  EXPECT_TRUE(close.edges.empty());
  EXPECT_NE(close.note.find("no histogram"), std::string::npos) << close.note;

  const double most = std::numeric_limits<double>::max();
  EXPECT_TRUE(choose_bins({.bins = 4}, {.count = 2, .min = -most, .max = most}).edges.empty());
}

TEST(Histogram, CountsBothEndsAndValuesOutside) {
  Histogram histogram({0, 1, 2});
  histogram.add(std::vector<double>{0, 1, 2, -0.5, 2.5, 0.5});
  EXPECT_EQ(histogram.counts(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(histogram.outside(), 2);
}

TEST(Histogram, HasOneBinWithoutValues) {
  EXPECT_EQ(choose_bins({.freedman_diaconis = true}, {}).edges, (std::vector<double>{0, 1}));
}

}  // namespace
}  // namespace attnscope
