// Quantiles with linear interpolation, as NumPy's default, from counted values or from values that
// are seen once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attnscope {

/// A value and how often it occurs.
struct ValueCount {
  double value = 0;
  std::int64_t count = 0;
};

/// Where a quantile lies between two neighbours in ascending order: at `weight` of the way from the
/// value at `below` to the one at `above`. Hyndman & Fan 1996, definition 7.
struct QuantilePosition {
  std::int64_t below = 0;
  std::int64_t above = 0;
  double weight = 0;
};
QuantilePosition quantile_position(std::int64_t count, double fraction);

/// Rounded as NumPy rounds it.
double interpolate(double below, double above, double weight);

/// Quantiles of counted values: `ascending` by value, at least one.
std::vector<double> quantiles_of(std::span<const ValueCount> ascending,
                                 std::span<const double> fractions);

/// Exact quantiles of values that are seen once, in any order, without keeping them all: a sample
/// tells roughly where each quantile lies, values near there are kept and all others counted
/// (after Floyd & Rivest 1975).
class QuantileSearch {
 public:
  /// `sample`: some of the values; `expected`: how many will come, roughly; `margin`: how far from
  /// its place in the sample a quantile is looked for, in standard errors of that place.
  /// Everything is kept where that covers the whole sample.
  QuantileSearch(std::vector<double> sample, std::span<const double> fractions,
                 std::int64_t expected, double margin);

  /// Finite values.
  void add(std::span<const double> values);

  std::int64_t count() const;

  /// One of the fractions asked for. Nothing where the sample was misleading, so that the values
  /// must be seen again with a larger margin, or where there are no values.
  std::optional<double> quantile(double fraction);

 private:
  /// Values from `low` to `high`: those at the ends are counted, those between kept.
  struct Kept {
    double low = 0, high = 0;
    std::int64_t at_low = 0, at_high = 0;
    std::vector<double> inside;
  };

  std::size_t cell_of(double value) const;
  void place(double value);
  std::optional<double> at_rank(std::int64_t rank);

  std::vector<Kept> kept_;             // disjoint, ascending
  std::vector<std::int64_t> between_;  // how many values lie before each of `kept_`, and after all
  /// A grid from the lowest to the highest of `kept_`: the index into `between_` for values of a
  /// cell that meets none of them, else kMixed. Empty: every value is placed one by one.
  std::vector<std::uint8_t> cells_;
  double cells_per_unit_ = 0;
};

/// The margin to begin with: a sample misleads about one time in 10^9.
inline constexpr double kFirstMargin = 6;

}  // namespace attnscope
