// Quantiles with linear interpolation, like NumPy's default, from counted values or from values in
// a single pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attnscope {

/// A value and its number of occurrences.
struct ValueCount {
  double value = 0;
  std::int64_t count = 0;
};

/// Position of a quantile between two neighbors in ascending order: at `weight` of the way from the
/// value at `below` to the one at `above`. Hyndman & Fan 1996, definition 7.
struct QuantilePosition {
  std::int64_t below = 0;
  std::int64_t above = 0;
  double weight = 0;
};
QuantilePosition quantile_position(std::int64_t count, double fraction);

/// Interpolates with the same rounding as NumPy.
double interpolate(double below, double above, double weight);

/// Returns quantiles of counted values. `ascending`: sorted by value, at least one.
std::vector<double> quantiles_of(std::span<const ValueCount> ascending,
                                 std::span<const double> fractions);

/// Exact quantiles from a single pass over values in any order, without storing them all. A sample
/// estimates the position of each quantile. Values near it are stored, and all others counted
/// (after Floyd & Rivest 1975).
class QuantileSearch {
 public:
  /// `sample`: some of the values. `expected`: approximate number of values. `margin`: search range
  /// around a quantile's position in the sample, in standard errors of this position. All values
  /// are stored if the range covers the whole sample.
  QuantileSearch(std::vector<double> sample, std::span<const double> fractions,
                 std::int64_t expected, double margin);

  /// Adds values, which must be finite.
  void add(std::span<const double> values);

  std::int64_t count() const;

  /// Returns the quantile of one of the requested fractions. Empty without values, or if the sample
  /// was misleading. The values must then be added again with a larger margin.
  std::optional<double> quantile(double fraction);

 private:
  /// Values from `low` to `high`. Values equal to an end are counted, those in between stored.
  struct Kept {
    double low = 0, high = 0;
    std::int64_t at_low = 0, at_high = 0;
    std::vector<double> inside;
  };

  std::size_t cell_of(double value) const;
  void place(double value);
  std::optional<double> at_rank(std::int64_t rank);

  std::vector<Kept> kept_;             // disjoint, ascending
  std::vector<std::int64_t> between_;  // number of values before each of `kept_`, and after all
  /// A grid from the lowest to the highest of `kept_`. Cells that overlap none of `kept_` have the
  /// index into `between_` of their values, others kMixed. Empty: every value is placed separately.
  std::vector<std::uint8_t> cells_;
  double cells_per_unit_ = 0;
};

/// Initial margin: a sample is misleading about once in 10^9 cases.
inline constexpr double kFirstMargin = 6;

}  // namespace attnscope
