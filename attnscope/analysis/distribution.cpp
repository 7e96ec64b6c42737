#include "attnscope/analysis/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnscope/core/text.h"

namespace attnscope {
namespace {

constexpr std::array kQuartiles = {0.25, 0.75};

/// From the central moments Σ (value - mean)^p / n.
void set_shape(Moments& out, double m2, double m3, double m4) {
  if (out.min == out.max) return;
  out.skewness = m3 / (m2 * std::sqrt(m2));
  out.excess_kurtosis = m4 / (m2 * m2) - 3;
}

/// A power of two that brings `size` to about 1; 1 for 0.
double unit_scale(double size) {
  if (size == 0) return 1;
  int exponent = 0;
  std::frexp(size, &exponent);
  // Within this range neither the scale nor its inverse overflows.
  return std::ldexp(1.0, -std::clamp(exponent, -1000, 1000));
}

std::vector<double> within(const std::optional<ValueRange>& range, std::span<const double> values) {
  std::vector<double> out;
  for (const double value : values) {
    if (!range || range->holds(value)) out.push_back(value);
  }
  return out;
}

}  // namespace

Moments moments_of(std::span<const ValueCount> ascending) {
  Moments out{.min = ascending.front().value, .max = ascending.back().value};
  const double scale = unit_scale(std::max(std::abs(out.min), std::abs(out.max)));
  double sum = 0;
  for (const ValueCount& entry : ascending) {
    out.count += entry.count;
    sum += static_cast<double>(entry.count) * (entry.value * scale);
  }
  const double n = static_cast<double>(out.count), mean = sum / n;
  double squares = 0, cubes = 0, fourths = 0;
  for (const ValueCount& entry : ascending) {
    const double deviation = entry.value * scale - mean;
    const double square = deviation * deviation, weight = static_cast<double>(entry.count);
    squares += weight * square;
    cubes += weight * square * deviation;
    fourths += weight * square * square;
  }
  out.mean = out.min == out.max ? out.min : mean / scale;
  out.std = out.min == out.max ? 0 : std::sqrt(squares / n) / scale;
  set_shape(out, squares / n, cubes / n, fourths / n);
  return out;
}

MomentSums::MomentSums(std::span<const double> sample)
    : min_(std::numeric_limits<double>::infinity()), max_(-min_) {
  if (sample.empty()) return;
  for (const double value : sample) pivot_ += value / static_cast<double>(sample.size());
  double largest = 0;
  for (const double value : sample) largest = std::max(largest, std::abs(value - pivot_));
  scale_ = unit_scale(largest);
}

void MomentSums::add(std::span<const double> values) {
  // Independent lanes, which the compiler turns into vectors. Sums of a block are added to the
  // whole's, so errors grow with the number of blocks, not of values.
  constexpr std::size_t kLanes = 4;
  std::array<double, kLanes> first{}, second{}, third{}, fourth{}, unfit{}, low, high;
  low.fill(min_);
  high.fill(max_);
  const auto take = [&](double value, std::size_t lane) {
    const double deviation = (value - pivot_) * scale_, square = deviation * deviation;
    first[lane] += deviation;
    second[lane] += square;
    third[lane] += square * deviation;
    fourth[lane] += square * square;
    unfit[lane] += value - value;  // NaN for NaN and Inf, else 0
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
  };
  std::size_t at = 0;
  for (; at + kLanes <= values.size(); at += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) take(values[at + lane], lane);
  }
  for (; at < values.size(); ++at) take(values[at], 0);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums_[0] += first[lane];
    sums_[1] += second[lane];
    sums_[2] += third[lane];
    sums_[3] += fourth[lane];
    if (unfit[lane] != 0) all_finite_ = false;
    min_ = std::min(min_, low[lane]);
    max_ = std::max(max_, high[lane]);
  }
  count_ += std::ssize(values);
}

Moments MomentSums::moments() const {
  const double n = static_cast<double>(count_);
  const double shift = sums_[0] / n;  // of the mean from the pivot
  const double s2 = sums_[1] / n, s3 = sums_[2] / n, s4 = sums_[3] / n;
  const double m2 = std::max(s2 - shift * shift, 0.0);
  const double m3 = s3 - 3 * shift * s2 + 2 * shift * shift * shift;
  const double m4 =
      s4 - 4 * shift * s3 + 6 * shift * shift * s2 - 3 * shift * shift * shift * shift;
  Moments out{.count = count_, .min = min_ + 0.0, .max = max_ + 0.0};  // + 0.0: -0 becomes 0
  out.mean = min_ == max_ ? out.min : pivot_ + shift / scale_;
  out.std = min_ == max_ ? 0 : std::sqrt(m2) / scale_;
  set_shape(out, m2, m3, m4);
  return out;
}

Spread spread_of(std::span<const ValueCount> ascending, const BinRule& rule) {
  if (rule.range) {
    const auto from = std::find_if(ascending.begin(), ascending.end(), [&](const auto& entry) {
      return entry.value >= rule.range->low;
    });
    const auto to = std::find_if(from, ascending.end(),
                                 [&](const auto& entry) { return entry.value > rule.range->high; });
    ascending = {from, to};
  }
  if (ascending.empty()) return {};
  const std::vector<double> quartiles = quantiles_of(ascending, kQuartiles);
  Spread out{.min = ascending.front().value,
             .max = ascending.back().value,
             .lower_quartile = quartiles[0],
             .upper_quartile = quartiles[1]};
  for (const ValueCount& entry : ascending) out.count += entry.count;
  return out;
}

SpreadSearch::SpreadSearch(const BinRule& rule, std::span<const double> sample,
                           std::int64_t expected, double margin)
    : range_(rule.range), search_(within(rule.range, sample), kQuartiles, expected, margin) {}

void SpreadSearch::add(std::span<const double> values) {
  if (range_) {
    inside_ = within(range_, values);
    values = inside_;
  }
  if (values.empty()) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  min_ = any_ ? std::min(min_, *low) : *low;
  max_ = any_ ? std::max(max_, *high) : *high;
  any_ = true;
  search_.add(values);
}

std::optional<Spread> SpreadSearch::spread() {
  if (!any_) return Spread{};
  const auto lower = search_.quantile(kQuartiles[0]), upper = search_.quantile(kQuartiles[1]);
  if (!lower || !upper) return std::nullopt;
  return Spread{search_.count(), min_, max_, *lower, *upper};
}

void add_distribution_fields(Record& row, const Moments& moments,
                             std::span<const double> quantiles) {
  Record by_fraction;
  for (std::size_t index = 0; index < kQuantiles.size(); ++index) {
    by_fraction.add(shortest_decimal(kQuantiles[index]), quantiles[index]);
  }
  row.add("count", moments.count)
      .add("mean", moments.mean)
      .add("std", moments.std)
      .add("min", moments.min)
      .add("max", moments.max)
      .add("skewness", moments.skewness)
      .add("excess_kurtosis", moments.excess_kurtosis)
      .add("quantiles", std::move(by_fraction));
}

}  // namespace attnscope
