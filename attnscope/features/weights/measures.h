// How the values of a matrix are distributed: moments, quantiles, histogram. Definitions:
// docs/metrics.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/numerics/statistics/histogram.h"
#include "attnscope/numerics/statistics/quantiles.h"
#include "attnscope/rows/record.h"

namespace attnscope {

inline constexpr std::array kQuantiles = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};

/// Of the population: no n / (n - 1) anywhere.
struct Moments {
  std::int64_t count = 0;
  double mean = 0;
  double std = 0;
  double min = 0;
  double max = 0;
  std::optional<double> skewness;         // m3 / m2^1.5; none where all values are equal
  std::optional<double> excess_kurtosis;  // m4 / m2² - 3; none likewise
};

/// `ascending` by value, at least one.
Moments moments_of(std::span<const ValueCount> ascending);

/// Moments of values that are seen once.
class MomentSums {
 public:
  /// `sample`: finite values from whose mean and size deviations are counted, so that sums of
  /// their powers neither cancel nor overflow.
  explicit MomentSums(std::span<const double> sample);

  void add(std::span<const double> values);
  bool all_finite() const { return all_finite_; }
  /// Of at least one value, all finite.
  Moments moments() const;

 private:
  double pivot_ = 0;
  double scale_ = 1;  // a power of two
  std::int64_t count_ = 0;
  std::array<double, 4> sums_{};  // Σ (scale (value - pivot))^p, p = 1 … 4
  double min_ = 0, max_ = 0;
  bool all_finite_ = true;
};

/// What choosing bins needs, of the counted values within the rule's range.
Spread spread_of(std::span<const ValueCount> ascending, const BinRule& rule);

/// Quartiles, smallest and largest of the values within the rule's range, seen once; for the
/// Freedman–Diaconis rule.
class SpreadSearch {
 public:
  SpreadSearch(const BinRule& rule, std::span<const double> sample, std::int64_t expected,
               double margin);

  void add(std::span<const double> values);
  /// Nothing where the sample was misleading.
  std::optional<Spread> spread();

 private:
  std::optional<ValueRange> range_;
  QuantileSearch search_;
  double min_ = 0, max_ = 0;
  bool any_ = false;
  std::vector<double> inside_;  // the values within the range of one add()
};

/// The fields of a weights row after its ids, but for the histogram.
void add_distribution_fields(Record& row, const Moments& moments,
                             std::span<const double> quantiles);

/// edges, counts, density (null if all values are outside), outside.
Record histogram_fields(const Histogram& histogram);

// The distribution of values that are counted, or seen in passes over where they lie; of a whole
// and of the parts that make it up.

/// What a weights row tells after its ids.
struct Distribution {
  bool all_finite = true;  // else there is nothing more
  Record fields;           // moments, quantiles and, where bins were asked for, the histogram
  std::string note;        // what was not done as asked, and why
};

/// The values that bit patterns stand for and how often each occurs, ascending, −0 counted as 0.
/// `counts` and `values` by pattern; `ascending`: the patterns of finite values, by value. Nothing
/// where another pattern occurs.
std::optional<std::vector<ValueCount>> counted_values(std::span<const std::int64_t> counts,
                                                      std::span<const double> values,
                                                      std::span<const std::uint32_t> ascending);

/// Of counted values, at least one. No `bins`: no histogram.
Distribution counted_distribution(std::span<const ValueCount> ascending,
                                  const std::optional<BinRule>& bins);

using ValueVisitor = std::function<void(std::span<const double>)>;

/// Values that can be seen again and again, in blocks; any of them may be NaN or Inf.
struct ValueStream {
  std::int64_t count = 0;  // at least 1
  std::function<void(const ValueVisitor&)> visit;
  /// About that many of them, spread over all: by them the first pass knows where quantiles lie.
  std::function<std::vector<double>(std::int64_t wanted)> sample;
};

/// Of `whole`, then of each of `parts`, which together are the whole and are read once for both; of
/// the whole alone where there are none. A pass for moments and quantiles, which is repeated where
/// a sample misled, then one for the histogram.
std::vector<Distribution> streamed_distributions(const ValueStream& whole,
                                                 std::span<const ValueStream> parts,
                                                 const std::optional<BinRule>& bins);

}  // namespace attnscope
