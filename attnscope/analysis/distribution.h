// How the values of a matrix are distributed: moments, quantiles, histogram. Definitions:
// docs/metrics.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/analysis/histogram.h"
#include "attnscope/analysis/quantiles.h"
#include "attnscope/results/record.h"

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

}  // namespace attnscope
