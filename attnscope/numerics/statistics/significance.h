// Significance of mean effects over independent examples: sign-flip tests, corrected for their
// number, and bootstrap intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attnscope {

/// Up to this number of groups, all signs are enumerated. With more, kRandomFlips are drawn.
inline constexpr std::int64_t kMostEnumeratedGroups = 20, kRandomFlips = 1'000'000;

/// Two-sided sign-flip (permutation) test of the hypothesis that the values are symmetric around 0.
/// Values of one group flip together. `groups`: the group of each value, from 0, without gaps;
/// empty: each value is its own group. Returns the share of sign patterns whose |sum| is at least
/// that of the values; for drawn patterns (1 + hits) / (1 + flips) (Phipson & Smyth 2010). Patterns
/// depend only on the seed and the number of groups. Empty without values.
std::optional<double> sign_flip_p_value(std::span<const double> values,
                                        std::span<const std::int64_t> groups = {},
                                        std::uint64_t seed = 0);

/// The smallest p-value of that test.
double smallest_sign_flip_p_value(std::int64_t groups);

/// Benjamini & Hochberg 1995: for each p-value, whether its hypothesis is rejected at false
/// discovery rate `rate`.
std::vector<bool> benjamini_hochberg(std::span<const double> p_values, double rate);

/// The smallest number of groups whose smallest p-value is rejected by benjamini_hochberg() among
/// this number of tests if all others are not.
std::int64_t groups_needed(std::int64_t tests, double rate);

struct BootstrapInterval {
  double low = 0, high = 0;
};

/// With fewer groups, bootstrap intervals are too narrow.
inline constexpr std::int64_t kFewestBootstrapGroups = 8;

/// Percentile bootstrap interval (95%) of Σ parts / Σ wholes, from 10,000 seeded resamples of the
/// groups (Efron 1979). Empty with fewer than kFewestBootstrapGroups groups, and if Σ wholes of a
/// resample is 0 or has another sign than that of the values.
std::optional<BootstrapInterval> bootstrap_ratio(std::span<const double> parts,
                                                 std::span<const double> wholes,
                                                 std::span<const std::int64_t> groups = {},
                                                 std::uint64_t seed = 0);

}  // namespace attnscope
