#include "attnscope/numerics/statistics/significance.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

namespace attnscope {
namespace {

/// The sum of the values of each group.
std::vector<double> group_sums(std::span<const double> values,
                               std::span<const std::int64_t> groups) {
  if (groups.empty()) return {values.begin(), values.end()};
  std::vector<double> sums;
  for (std::size_t at = 0; at < values.size(); ++at) {
    const auto group = static_cast<std::size_t>(groups[at]);
    if (group >= sums.size()) sums.resize(group + 1, 0);
    sums[group] += values[at];
  }
  return sums;
}

/// Share of all sign patterns. A pattern and its opposite have the same |sum|, so the last sign
/// stays.
double enumerated_share(const std::vector<double>& sums, double observed) {
  double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  std::vector<double> signs(sums.size(), 1);
  const std::uint64_t patterns = std::uint64_t{1} << (sums.size() - 1);
  std::uint64_t hits = 1;  // the values themselves
  for (std::uint64_t pattern = 1; pattern < patterns; ++pattern) {
    const auto flipped = static_cast<std::size_t>(std::countr_zero(pattern));  // Gray code
    sum -= 2 * signs[flipped] * sums[flipped];
    signs[flipped] = -signs[flipped];
    if (std::abs(sum) >= observed) ++hits;
  }
  return static_cast<double>(hits) / static_cast<double>(patterns);
}

/// Sums of all sign patterns of eight groups at a time: a drawn pattern is then a few lookups.
class PatternSums {
 public:
  explicit PatternSums(const std::vector<double>& sums) {
    for (std::size_t first = 0; first < sums.size(); first += kBits) {
      std::array<double, 1U << kBits>& table = tables_.emplace_back();
      for (std::size_t pattern = 0; pattern < table.size(); ++pattern) {
        double sum = 0;
        for (std::size_t bit = 0; bit < kBits && first + bit < sums.size(); ++bit) {
          sum += (pattern >> bit & 1U) != 0 ? -sums[first + bit] : sums[first + bit];
        }
        table[pattern] = sum;
      }
    }
  }

  /// The sum with signs from the generator's next bits.
  double drawn(std::mt19937_64& random) const {
    double sum = 0;
    std::uint64_t bits = 0;
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      if (table % (64 / kBits) == 0) bits = random();
      sum += tables_[table][bits & ((1U << kBits) - 1)];
      bits >>= kBits;
    }
    return sum;
  }

 private:
  static constexpr std::size_t kBits = 8;
  std::vector<std::array<double, 1U << kBits>> tables_;
};

}  // namespace

std::optional<double> sign_flip_p_value(std::span<const double> values,
                                        std::span<const std::int64_t> groups, std::uint64_t seed) {
  if (values.empty()) return {};
  const std::vector<double> sums = group_sums(values, groups);
  double total = 0, size = 0;
  for (const double sum : sums) {
    total += sum;
    size += std::abs(sum);
  }
  // Sums that are equal except for rounding count as equal.
  const double observed = std::abs(total) - 1e-12 * size;
  if (std::ssize(sums) <= kMostEnumeratedGroups) return enumerated_share(sums, observed);
  const PatternSums patterns(sums);
  std::mt19937_64 random(seed);
  std::int64_t hits = 0;
  for (std::int64_t flip = 0; flip < kRandomFlips; ++flip) {
    if (std::abs(patterns.drawn(random)) >= observed) ++hits;
  }
  return static_cast<double>(1 + hits) / static_cast<double>(1 + kRandomFlips);
}

double smallest_sign_flip_p_value(std::int64_t groups) {
  if (groups > kMostEnumeratedGroups) return 1 / static_cast<double>(1 + kRandomFlips);
  return groups < 1 ? 1 : std::exp2(static_cast<double>(1 - groups));
}

std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double rate) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return p_values[at]; });
  std::size_t rejected = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double bound =
        rate * static_cast<double>(rank + 1) / static_cast<double>(p_values.size());
    if (p_values[order[rank]] <= bound) rejected = rank + 1;
  }
  std::vector<bool> out(p_values.size(), false);
  for (std::size_t rank = 0; rank < rejected; ++rank) out[order[rank]] = true;
  return out;
}

std::int64_t groups_needed(std::int64_t tests, double rate) {
  std::int64_t groups = 1;
  while (groups <= kMostEnumeratedGroups &&
         smallest_sign_flip_p_value(groups) > rate / static_cast<double>(tests)) {
    ++groups;
  }
  return groups;
}

std::optional<BootstrapInterval> bootstrap_ratio(std::span<const double> parts,
                                                 std::span<const double> wholes,
                                                 std::span<const std::int64_t> groups,
                                                 std::uint64_t seed) {
  const std::vector<double> part = group_sums(parts, groups), whole = group_sums(wholes, groups);
  if (std::ssize(part) < kFewestBootstrapGroups) return {};
  constexpr std::size_t kResamples = 10'000;
  constexpr double kOutside = 0.025;  // on each side
  std::mt19937_64 random(seed);
  const double sign = std::accumulate(whole.begin(), whole.end(), 0.0) < 0 ? -1 : 1;
  std::vector<double> ratios(kResamples);
  for (double& ratio : ratios) {
    double above = 0, below = 0;
    for (std::size_t draw = 0; draw < part.size(); ++draw) {
      const auto at = static_cast<std::size_t>(random() % part.size());
      above += part[at];
      below += whole[at];
    }
    if (!(sign * below > 0)) return {};
    ratio = above / below;
  }
  std::ranges::sort(ratios);
  const auto quantile = [&](double share) {
    return ratios[static_cast<std::size_t>(share * static_cast<double>(kResamples - 1) + 0.5)];
  };
  return BootstrapInterval{.low = quantile(kOutside), .high = quantile(1 - kOutside)};
}

}  // namespace attnscope
