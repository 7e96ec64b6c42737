#include "attnscope/numerics/statistics/histogram.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attnscope {
namespace {

/// Returns numpy.linspace(low, high, bins + 1) with the same rounding.
std::vector<double> equal_edges(double low, double high, std::int64_t bins) {
  const double width = high - low, count = static_cast<double>(bins);
  const double step = width / count;
  std::vector<double> edges;
  for (std::int64_t index = 0; index <= bins; ++index) {
    const double at = static_cast<double>(index);
    edges.push_back((step == 0 ? at / count * width : at * step) + low);
  }
  edges.back() = high;
  return edges;
}

/// Returns the number of Freedman–Diaconis bins over `width`, which may exceed kMaxBins.
double freedman_diaconis_bins(const Spread& spread, double width) {
  const double iqr = spread.upper_quartile - spread.lower_quartile;
  const double bin_width = 2.0 * iqr * std::pow(static_cast<double>(spread.count), -1.0 / 3.0);
  return bin_width > 0 ? std::ceil(width / bin_width) : 1;
}

}  // namespace

Bins choose_bins(const BinRule& rule, const Spread& spread) {
  double low = 0, high = 1;  // for no values
  if (rule.range) {
    low = rule.range->low;
    high = rule.range->high;
  } else if (spread.count > 0) {
    low = spread.min;
    high = spread.max;
  }
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  Bins out;
  std::int64_t bins = rule.bins;
  if (rule.freedman_diaconis) {
    const double wanted = spread.count == 0 ? 1 : freedman_diaconis_bins(spread, high - low);
    if (wanted > static_cast<double>(kMaxBins)) {
      out.note = "the Freedman-Diaconis rule gives more than " + std::to_string(kMaxBins) +
                 " bins; the histogram has " + std::to_string(kMaxBins);
    }
    bins = static_cast<std::int64_t>(std::min(wanted, static_cast<double>(kMaxBins)));
  }
  out.edges = equal_edges(low, high, bins);
  const bool distinct =
      std::isfinite(high - low) && std::adjacent_find(out.edges.begin(), out.edges.end(),
                                                      std::greater_equal<>()) == out.edges.end();
  if (!distinct) {
    out.edges.clear();
    out.note = "no histogram: float64 cannot represent " + std::to_string(bins) +
               " bins of equal width between the smallest and the largest value";
  }
  return out;
}

Histogram::Histogram(std::vector<double> edges)
    : edges_(std::move(edges)),
      counts_(edges_.size() - 1, 0),
      bins_per_unit_(static_cast<double>(counts_.size()) / (edges_.back() - edges_.front())) {}

void Histogram::add(double value, std::int64_t count) {
  if (!(value >= edges_.front() && value <= edges_.back())) {
    outside_ += count;
    return;
  }
  const std::size_t last = counts_.size() - 1;
  // Rounding may put this guess one bin off; the edges decide.
  const double guess = (value - edges_.front()) * bins_per_unit_;
  std::size_t bin = guess < static_cast<double>(last) ? static_cast<std::size_t>(guess) : last;
  while (value < edges_[bin]) --bin;
  while (bin < last && value >= edges_[bin + 1]) ++bin;
  counts_[bin] += count;
}

void Histogram::add(std::span<const double> values) {
  for (const double value : values) add(value);
}

}  // namespace attnscope
