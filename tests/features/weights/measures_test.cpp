#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "attnscope/features/weights/measures.h"
#include "attnscope/rows/lossless_json.h"
#include "tests/support/matrices.h"

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

TEST(Moments, MatchFourNumbersByHand) {
  // 1, 2, 3, 10: mean 4, deviations from the mean -3, -2, -1, 6.
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

TEST(Moments, EqualValuesHaveNoSkewnessOrKurtosis) {
  const std::vector<double> values(7, 0.1);
  for (const Moments& moments : {moments_of(std::vector<ValueCount>{{0.1, 7}}), streamed(values)}) {
    EXPECT_EQ(moments.mean, 0.1);
    EXPECT_EQ(moments.std, 0);
    EXPECT_FALSE(moments.skewness);
    EXPECT_FALSE(moments.excess_kurtosis);
  }
}

TEST(Moments, AreRobustToScaleAndOffset) {
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
      // Creating the values loses 2^-52 of the offset, which is 1e-10 of the standard deviation.
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

TEST(Moments, DoNotDependOnTheSample) {
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

TEST(Moments, DetectNanAndInfinity) {
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

TEST(HistogramFields, ContainCountsAndDensityOfValuesInRange) {
  Histogram histogram({0, 1, 2});
  histogram.add(std::vector<double>{0, 1, 2, -0.5, 2.5, 0.5});
  const Record record = histogram_fields(histogram);
  EXPECT_EQ(expect_vector<std::int64_t>(record, "counts"), histogram.counts());
  EXPECT_EQ(expect_vector<double>(record, "density"), (std::vector<double>{0.5, 0.5}));
}

TEST(HistogramFields, HaveNoDensityWithoutValues) {
  EXPECT_TRUE(histogram_fields(Histogram({0, 1, 2})).find("density")->is_null());
}

}  // namespace

// Distributions from several passes, compared with counting the same values.
namespace {

using namespace test;

constexpr BinRule kFourBins = {.bins = 4, .range = ValueRange{-10, 10}};

/// Values in blocks of three, with the given sample.
ValueStream source_of(const std::vector<double>& values, const std::vector<double>& sample) {
  return {
      .count = std::ssize(values),
      .visit =
          [&values](const ValueVisitor& visit) {
            for (std::size_t at = 0; at < values.size(); at += 3) {
              visit(std::span(values).subspan(at, std::min<std::size_t>(3, values.size() - at)));
            }
          },
      .sample = [&sample](std::int64_t) { return sample; }};
}

std::vector<ValueCount> sorted_counts(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<ValueCount> out;
  for (const double value : values) {
    if (out.empty() || out.back().value != value) out.push_back({value, 0});
    ++out.back().count;
  }
  return out;
}

double number(const Record& fields, const char* name) { return *fields.find(name)->get<double>(); }

void expect_same(const Distribution& found, const std::vector<double>& values,
                 const std::optional<BinRule>& bins) {
  const Distribution wanted = counted_distribution(sorted_counts(values), bins);
  ASSERT_TRUE(found.all_finite);
  // Moments of at most a thousand values below 100, up to rounding of sums.
  for (const char* name : {"mean", "std", "skewness", "excess_kurtosis"}) {
    EXPECT_NEAR(number(found.fields, name), number(wanted.fields, name), 1e-11) << name;
  }
  for (const char* name : {"count", "min", "max", "quantiles", "histogram"}) {
    const Value* own = found.fields.find(name);
    const Value* other = wanted.fields.find(name);
    ASSERT_EQ(own == nullptr, other == nullptr) << name;
    if (own == nullptr) continue;
    EXPECT_EQ(record_text({{name, *own}}), record_text({{name, *other}}));
  }
  EXPECT_EQ(found.note, wanted.note);
}

std::vector<double> values_of(const Matrix<double>& matrix) {
  return {matrix.data(), matrix.data() + matrix.rows() * matrix.cols()};
}

TEST(ValuePass, AFourByFourMatrixAndItsRowsHaveTheirOwnDistributions) {
  const Matrix<double> matrix = integer_matrix(4, 4, /*limit=*/9, /*seed=*/1);
  const std::vector<double> all = values_of(matrix);
  std::array<std::vector<double>, 4> rows;
  std::vector<ValueStream> parts;
  for (std::size_t row = 0; row < 4; ++row) {
    rows[row] = {all.begin() + static_cast<std::ptrdiff_t>(4 * row),
                 all.begin() + static_cast<std::ptrdiff_t>(4 * row + 4)};
    parts.push_back(source_of(rows[row], rows[row]));
  }
  const auto found = streamed_distributions(source_of(all, all), parts, kFourBins);
  ASSERT_EQ(found.size(), 5u);
  expect_same(found[0], all, kFourBins);
  for (std::size_t row = 0; row < 4; ++row) expect_same(found[row + 1], rows[row], kFourBins);
}

TEST(ValuePass, AMisleadingSampleOnlyCostsAnotherPass) {
  const std::vector<double> values = values_of(gaussian_matrix(20, 50, 2));
  const std::vector<double> misleading(500, 7.0);
  const BinRule rule{.freedman_diaconis = true};
  int passes = 0;
  ValueStream source = source_of(values, misleading);
  const auto visit = source.visit;
  source.visit = [&](const ValueVisitor& visitor) {
    ++passes;
    visit(visitor);
  };
  const auto found = streamed_distributions(source, {}, rule);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_GT(passes, 2);  // one for quantiles, one for the histogram, and repeated passes
  expect_same(found[0], values, rule);
}

TEST(ValuePass, APartWithNanDoesNotAffectTheOthers) {
  const std::vector<double> good = {1, 2, 4, 8, -1};
  const std::vector<double> bad = {1, std::numeric_limits<double>::quiet_NaN(), 3};
  std::vector<double> all = good;
  all.insert(all.end(), bad.begin(), bad.end());
  const std::vector<ValueStream> parts = {source_of(good, good), source_of(bad, bad)};
  const auto found = streamed_distributions(source_of(all, all), parts, std::nullopt);
  EXPECT_FALSE(found[0].all_finite);
  EXPECT_FALSE(found[2].all_finite);
  expect_same(found[1], good, std::nullopt);
}

TEST(ValuePass, ConvertsPatternCountsToValueCounts) {
  // The patterns represent 0, 1, -0, NaN, -1.
  const std::vector<double> values = {0, 1, -0.0, std::numeric_limits<double>::quiet_NaN(), -1};
  const std::vector<std::uint32_t> ascending = {4, 2, 0, 1};
  const auto found = counted_values(std::vector<std::int64_t>{3, 0, 2, 0, 5}, values, ascending);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].value, -1);
  EXPECT_EQ((*found)[0].count, 5);
  EXPECT_FALSE(std::signbit((*found)[1].value));
  EXPECT_EQ((*found)[1].count, 5);
  EXPECT_FALSE(counted_values(std::vector<std::int64_t>{0, 0, 0, 1, 0}, values, ascending));
}

}  // namespace
}  // namespace attnscope
