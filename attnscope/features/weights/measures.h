// Distribution of the values of a matrix: moments, quantiles, histogram. Definitions:
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

/// Population moments, without the correction n / (n - 1).
struct Moments {
  std::int64_t count = 0;
  double mean = 0;
  double std = 0;
  double min = 0;
  double max = 0;
  std::optional<double> skewness;         // m3 / m2^1.5; none if all values are equal
  std::optional<double> excess_kurtosis;  // m4 / m2² - 3; none if all values are equal
};

/// `ascending`: sorted by value, not empty.
Moments moments_of(std::span<const ValueCount> ascending);

/// Computes moments in one pass.
class MomentSums {
 public:
  /// `sample`: finite values that define the pivot and scale, so that sums of powers neither cancel
  /// nor overflow.
  explicit MomentSums(std::span<const double> sample);

  void add(std::span<const double> values);
  bool all_finite() const { return all_finite_; }
  /// Requires at least one value, all finite.
  Moments moments() const;

 private:
  double pivot_ = 0;
  double scale_ = 1;  // a power of two
  std::int64_t count_ = 0;
  std::array<double, 4> sums_{};  // Σ (scale (value - pivot))^p, p = 1 … 4
  double min_ = 0, max_ = 0;
  bool all_finite_ = true;
};

/// The statistics for choosing bins, from the values within the rule's range.
Spread spread_of(std::span<const ValueCount> ascending, const BinRule& rule);

/// Finds quartiles, minimum and maximum of the values within the rule's range in one pass, for the
/// Freedman–Diaconis rule.
class SpreadSearch {
 public:
  SpreadSearch(const BinRule& rule, std::span<const double> sample, std::int64_t expected,
               double margin);

  void add(std::span<const double> values);
  /// Returns nothing if the sample was misleading.
  std::optional<Spread> spread();

 private:
  std::optional<ValueRange> range_;
  QuantileSearch search_;
  double min_ = 0, max_ = 0;
  bool any_ = false;
  std::vector<double> inside_;  // values of one add() within the range
};

/// Adds the fields of a weights row after its identifiers, except the histogram.
void add_distribution_fields(Record& row, const Moments& moments,
                             std::span<const double> quantiles);

/// edges, counts, density (null if all values are outside), outside.
Record histogram_fields(const Histogram& histogram);

// The distribution of counted values, or of values read in several passes; for a whole matrix and
// its parts.

/// The fields of a weights row after its identifiers.
struct Distribution {
  bool all_finite = true;  // if false, the other members are empty
  Record fields;           // moments, quantiles and, if requested, the histogram
  std::string note;        // what was not done as requested, and why
};

/// The values of bit patterns and their counts, ascending; −0 counts as 0. `counts` and `values`
/// are indexed by pattern; `ascending`: patterns of finite values, sorted by value. Returns nothing
/// if another pattern occurs.
std::optional<std::vector<ValueCount>> counted_values(std::span<const std::int64_t> counts,
                                                      std::span<const double> values,
                                                      std::span<const std::uint32_t> ascending);

/// Requires at least one counted value. No `bins`: no histogram.
Distribution counted_distribution(std::span<const ValueCount> ascending,
                                  const std::optional<BinRule>& bins);

using ValueVisitor = std::function<void(std::span<const double>)>;

/// Values that can be read repeatedly, in blocks; any of them may be NaN or Inf.
struct ValueStream {
  std::int64_t count = 0;  // at least 1
  std::function<void(const ValueVisitor&)> visit;
  /// Returns about that many values, spread over all. The first pass uses them to locate quantiles.
  std::function<std::vector<double>(std::int64_t wanted)> sample;
};

/// Distributions of `whole`, then of each of `parts`. The parts make up the whole and are read once
/// for both; without parts, only the whole is read. The first pass computes moments and quantiles,
/// and is repeated if a sample was misleading. The second pass computes the histogram.
std::vector<Distribution> streamed_distributions(const ValueStream& whole,
                                                 std::span<const ValueStream> parts,
                                                 const std::optional<BinRule>& bins);

}  // namespace attnscope
