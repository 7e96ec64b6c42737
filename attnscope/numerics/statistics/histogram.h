// Histograms with equal bins, binned as numpy.histogram does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnscope {

struct ValueRange {
  double low = 0;
  double high = 0;

  bool holds(double value) const { return value >= low && value <= high; }
};

/// Which bins were asked for.
struct BinRule {
  bool freedman_diaconis = false;
  std::int64_t bins = 0;            // where they are not
  std::optional<ValueRange> range;  // none: from the smallest value to the largest
};

/// What the choice of bins hangs on: the values within the range asked for.
struct Spread {
  std::int64_t count = 0;
  double min = 0, max = 0;
  double lower_quartile = 0, upper_quartile = 0;
};

/// More Freedman–Diaconis bins than that are not made.
inline constexpr std::int64_t kMaxBins = 65'536;

struct Bins {
  std::vector<double> edges;  // ascending; empty where float64 has no such edges
  std::string note;           // what was not done as asked, and why
};

/// The edges that numpy.histogram_bin_edges gives. Freedman & Diaconis 1981: width
/// 2 IQR count^(-1/3), one bin where the IQR is 0.
Bins choose_bins(const BinRule& rule, const Spread& spread);

class Histogram {
 public:
  /// `edges`: at least two, ascending, equally spaced.
  explicit Histogram(std::vector<double> edges);

  /// The last bin holds its upper edge too.
  void add(double value, std::int64_t count = 1);
  void add(std::span<const double> values);

  const std::vector<double>& edges() const { return edges_; }
  const std::vector<std::int64_t>& counts() const { return counts_; }
  std::int64_t outside() const { return outside_; }

 private:
  std::vector<double> edges_;
  std::vector<std::int64_t> counts_;
  std::int64_t outside_ = 0;
  double bins_per_unit_ = 0;
};

}  // namespace attnscope
