#include "attnscope/numerics/statistics/quantiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace attnscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kCells = 4096;
constexpr std::uint8_t kMixed = 255;

}  // namespace

QuantilePosition quantile_position(std::int64_t count, double fraction) {
  const double at = static_cast<double>(count - 1) * fraction;
  const auto below = static_cast<std::int64_t>(std::floor(at));
  if (below >= count - 1) return {count - 1, count - 1, 0};
  return {below, below + 1, at - static_cast<double>(below)};
}

double interpolate(double below, double above, double weight) {
  const double step = above - below;
  return weight >= 0.5 ? above - step * (1 - weight) : below + step * weight;
}

std::vector<double> quantiles_of(std::span<const ValueCount> ascending,
                                 std::span<const double> fractions) {
  std::vector<std::int64_t> ends;  // number of values up to each entry
  std::int64_t count = 0;
  for (const ValueCount& entry : ascending) ends.push_back(count += entry.count);
  const auto at_rank = [&](std::int64_t rank) {
    const auto found = std::upper_bound(ends.begin(), ends.end(), rank);
    return ascending[static_cast<std::size_t>(found - ends.begin())].value;
  };
  std::vector<double> out;
  for (const double fraction : fractions) {
    const QuantilePosition position = quantile_position(count, fraction);
    out.push_back(interpolate(at_rank(position.below), at_rank(position.above), position.weight));
  }
  return out;
}

QuantileSearch::QuantileSearch(std::vector<double> sample, std::span<const double> fractions,
                               std::int64_t expected, double margin) {
  std::sort(sample.begin(), sample.end());
  const auto size = static_cast<double>(sample.size());
  for (const double fraction : fractions) {
    const double reach = margin * std::sqrt(fraction * (1 - fraction) * size) +
                         2 * size / static_cast<double>(std::max<std::int64_t>(expected, 1)) + 1;
    const double from = std::floor(fraction * size - reach);
    const double to = std::ceil(fraction * size + reach);
    const double low = from < 0 ? -kInfinity : sample[static_cast<std::size_t>(from)];
    const double high = to >= size ? kInfinity : sample[static_cast<std::size_t>(to)];
    if (kept_.empty() || low > kept_.back().high) {
      kept_.push_back({.low = low, .high = high});
    } else {
      kept_.back().high = std::max(kept_.back().high, high);
    }
  }
  between_.assign(kept_.size() + 1, 0);

  const double width = kept_.back().high - kept_.front().low;
  cells_per_unit_ = static_cast<double>(kCells) / width;
  if (!(std::isfinite(cells_per_unit_) && cells_per_unit_ > 0)) return;
  // cell_of() is monotonic, so cells before that of `low` contain only smaller values.
  cells_.resize(kCells);
  std::size_t cell = 0;
  for (std::size_t index = 0; index < kept_.size(); ++index) {
    const std::size_t low = cell_of(kept_[index].low), high = cell_of(kept_[index].high);
    while (cell < low) cells_[cell++] = static_cast<std::uint8_t>(index);
    for (; cell <= high; ++cell) cells_[cell] = kMixed;
  }
}

std::size_t QuantileSearch::cell_of(double value) const {
  return std::min(static_cast<std::size_t>((value - kept_.front().low) * cells_per_unit_),
                  kCells - 1);
}

void QuantileSearch::add(std::span<const double> values) {
  if (cells_.empty()) {
    for (const double value : values) place(value);
    return;
  }
  const double lowest = kept_.front().low, highest = kept_.back().high;
  // Two counters per gap, because consecutive values often fall into the same one and would wait
  // for each other.
  std::array<std::array<std::int64_t, 2>, 256> counts{};
  for (std::size_t index = 0; index < values.size(); ++index) {
    const double value = values[index];
    std::size_t gap = 0;
    if (value > highest) {
      gap = kept_.size();
    } else if (value >= lowest) {
      gap = cells_[cell_of(value)];
      if (gap == kMixed) {
        place(value);
        continue;
      }
    }
    ++counts[gap][index & 1];
  }
  for (std::size_t gap = 0; gap < between_.size(); ++gap) {
    between_[gap] += counts[gap][0] + counts[gap][1];
  }
}

void QuantileSearch::place(double value) {
  std::size_t index = 0;
  while (index < kept_.size() && kept_[index].high < value) ++index;
  if (index == kept_.size() || value < kept_[index].low) {
    ++between_[index];
    return;
  }
  Kept& kept = kept_[index];
  if (value == kept.low) {
    ++kept.at_low;
  } else if (value == kept.high) {
    ++kept.at_high;
  } else {
    kept.inside.push_back(value);
  }
}

std::int64_t QuantileSearch::count() const {
  std::int64_t total = 0;
  for (const std::int64_t count : between_) total += count;
  for (const Kept& kept : kept_) total += kept.at_low + std::ssize(kept.inside) + kept.at_high;
  return total;
}

std::optional<double> QuantileSearch::at_rank(std::int64_t rank) {
  for (std::size_t index = 0; index < kept_.size(); ++index) {
    rank -= between_[index];
    if (rank < 0) return std::nullopt;
    Kept& kept = kept_[index];
    if (rank < kept.at_low) return kept.low;
    rank -= kept.at_low;
    if (rank < std::ssize(kept.inside)) {
      const auto wanted = kept.inside.begin() + rank;
      std::nth_element(kept.inside.begin(), wanted, kept.inside.end());
      return *wanted;
    }
    rank -= std::ssize(kept.inside);
    if (rank < kept.at_high) return kept.high;
    rank -= kept.at_high;
  }
  return std::nullopt;
}

std::optional<double> QuantileSearch::quantile(double fraction) {
  const std::int64_t total = count();
  if (total == 0) return std::nullopt;
  const QuantilePosition position = quantile_position(total, fraction);
  const auto below = at_rank(position.below), above = at_rank(position.above);
  if (!below || !above) return std::nullopt;
  return interpolate(*below, *above, position.weight);
}

}  // namespace attnscope
