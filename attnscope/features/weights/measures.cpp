#include "attnscope/features/weights/measures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

constexpr std::array kQuartiles = {0.25, 0.75};

/// Computes the shape from the central moments Σ (value - mean)^p / n.
void set_shape(Moments& out, double m2, double m3, double m4) {
  if (out.min == out.max) return;
  out.skewness = m3 / (m2 * std::sqrt(m2));
  out.excess_kurtosis = m4 / (m2 * m2) - 3;
}

/// A power of two that scales `size` to about 1; 1 for 0.
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
  // Independent lanes, so that the compiler can vectorize. Sums of a block are added to the total,
  // so errors grow with the number of blocks, not of values.
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
  const double shift = sums_[0] / n;  // distance of the mean from the pivot
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

Record histogram_fields(const Histogram& histogram) {
  const std::vector<double>& edges = histogram.edges();
  const std::vector<std::int64_t>& counts = histogram.counts();
  std::int64_t inside = 0;
  for (const std::int64_t count : counts) inside += count;
  Value density;
  if (inside > 0) {
    std::vector<double> shares;
    for (std::size_t bin = 0; bin < counts.size(); ++bin) {
      shares.push_back(static_cast<double>(counts[bin]) / (edges[bin + 1] - edges[bin]) /
                       static_cast<double>(inside));
    }
    density = Value(std::move(shares));
  }
  Record out = {{"edges", edges}, {"counts", counts}};
  out.add("density", std::move(density)).add("outside", histogram.outside());
  return out;
}

namespace {

/// Sample size: enough to locate quantiles, small compared with the values themselves.
std::int64_t sample_size(std::int64_t count) {
  return std::clamp<std::int64_t>(count / 32, 4096, 65536);
}

/// Results of the first pass over one source.
class FirstPass {
 public:
  FirstPass(std::vector<double> sample, std::int64_t count, const std::optional<BinRule>& bins,
            double margin)
      : moments_(sample), quantiles_(sample, kQuantiles, count, margin) {
    if (bins && bins->freedman_diaconis) spread_.emplace(*bins, sample, count, margin);
  }

  void add(std::span<const double> values) {
    moments_.add(values);
    if (!moments_.all_finite()) return;
    quantiles_.add(values);
    if (spread_) spread_->add(values);
  }

  bool all_finite() const { return moments_.all_finite(); }

  /// Computes the fields except the histogram, and its bins; false if the sample was misleading.
  bool finish(Record& fields, Bins& chosen, const std::optional<BinRule>& bins) {
    std::vector<double> quantiles;
    for (const double fraction : kQuantiles) {
      const auto found = quantiles_.quantile(fraction);
      if (!found) return false;
      quantiles.push_back(*found);
    }
    const Moments moments = moments_.moments();
    std::optional<Spread> spread =
        Spread{.count = moments.count, .min = moments.min, .max = moments.max};
    if (spread_) spread = spread_->spread();
    if (!spread) return false;
    add_distribution_fields(fields, moments, quantiles);
    if (bins) chosen = choose_bins(*bins, *spread);
    return true;
  }

 private:
  MomentSums moments_;
  QuantileSearch quantiles_;
  std::optional<SpreadSearch> spread_;
};

FirstPass first_pass(const ValueStream& source, const std::optional<BinRule>& bins, double margin) {
  std::vector<double> sample = source.sample(sample_size(source.count));
  std::erase_if(sample, [](double value) { return value - value != 0; });  // NaN and Inf
  return FirstPass(std::move(sample), source.count, bins, margin);
}

}  // namespace

std::optional<std::vector<ValueCount>> counted_values(std::span<const std::int64_t> counts,
                                                      std::span<const double> values,
                                                      std::span<const std::uint32_t> ascending) {
  std::int64_t total = 0, finite = 0;
  for (const std::int64_t count : counts) total += count;
  for (const std::uint32_t pattern : ascending) finite += counts[pattern];
  if (finite != total) return std::nullopt;
  std::vector<ValueCount> out;
  for (const std::uint32_t pattern : ascending) {
    if (counts[pattern] == 0) continue;
    const double value = values[pattern] + 0.0;  // -0 becomes 0
    if (!out.empty() && out.back().value == value) {
      out.back().count += counts[pattern];
    } else {
      out.push_back({value, counts[pattern]});
    }
  }
  return out;
}

Distribution counted_distribution(std::span<const ValueCount> ascending,
                                  const std::optional<BinRule>& bins) {
  Distribution out;
  add_distribution_fields(out.fields, moments_of(ascending), quantiles_of(ascending, kQuantiles));
  if (!bins) return out;
  const Bins chosen = choose_bins(*bins, spread_of(ascending, *bins));
  out.note = chosen.note;
  Value record;
  if (!chosen.edges.empty()) {
    Histogram histogram(chosen.edges);
    for (const ValueCount& entry : ascending) histogram.add(entry.value, entry.count);
    record = Value(histogram_fields(histogram));
  }
  out.fields.add("histogram", std::move(record));
  return out;
}

std::vector<Distribution> streamed_distributions(const ValueStream& whole,
                                                 std::span<const ValueStream> parts,
                                                 const std::optional<BinRule>& bins) {
  std::vector<const ValueStream*> sources = {&whole};
  for (const ValueStream& part : parts) sources.push_back(&part);
  const std::size_t first_read = parts.empty() ? 0 : 1;  // the whole is accumulated from its parts
  std::vector<FirstPass> passes;
  for (const ValueStream* source : sources) {
    passes.push_back(first_pass(*source, bins, kFirstMargin));
  }
  for (std::size_t index = first_read; index < sources.size(); ++index) {
    sources[index]->visit([&](std::span<const double> values) {
      passes[index].add(values);
      if (index > 0) passes[0].add(values);
    });
  }

  std::vector<Distribution> out(sources.size());
  std::vector<std::optional<Histogram>> histograms(sources.size());
  for (std::size_t index = 0; index < sources.size(); ++index) {
    out[index].all_finite = passes[index].all_finite();
    if (!out[index].all_finite) continue;
    Bins chosen;
    for (double margin = kFirstMargin; !passes[index].finish(out[index].fields, chosen, bins);) {
      margin *= 8;
      passes[index] = first_pass(*sources[index], bins, margin);
      sources[index]->visit([&](std::span<const double> values) { passes[index].add(values); });
    }
    out[index].note = chosen.note;
    if (!chosen.edges.empty()) histograms[index].emplace(std::move(chosen.edges));
  }
  if (!bins) return out;

  for (std::size_t index = first_read; index < sources.size(); ++index) {
    sources[index]->visit([&](std::span<const double> values) {
      if (histograms[index]) histograms[index]->add(values);
      if (index > 0 && histograms[0]) histograms[0]->add(values);
    });
  }
  for (std::size_t index = 0; index < sources.size(); ++index) {
    if (!out[index].all_finite) continue;
    out[index].fields.add(
        "histogram", histograms[index] ? Value(histogram_fields(*histograms[index])) : Value());
  }
  return out;
}

}  // namespace attnscope
