// Histograms with bins of equal width, with the same binning as numpy.histogram.
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

/// Requested bins.
struct BinRule {
  bool freedman_diaconis = false;
  std::int64_t bins = 0;            // number of bins, without that rule
  std::optional<ValueRange> range;  // empty: from the smallest to the largest value
};

/// Statistics of the values within the requested range, from which bins are chosen.
struct Spread {
  std::int64_t count = 0;
  double min = 0, max = 0;
  double lower_quartile = 0, upper_quartile = 0;
};

/// Upper limit on the number of Freedman–Diaconis bins.
inline constexpr std::int64_t kMaxBins = 65'536;

struct Bins {
  std::vector<double> edges;  // ascending; empty if float64 cannot represent them
  std::string note;           // deviation from the request, and why
};

/// Returns the edges of numpy.histogram_bin_edges. Freedman & Diaconis 1981: width 2 IQR
/// count^(-1/3), or one bin if the IQR is 0.
Bins choose_bins(const BinRule& rule, const Spread& spread);

class Histogram {
 public:
  /// `edges`: at least two, ascending, equally spaced.
  explicit Histogram(std::vector<double> edges);

  /// Counts a value. The last bin includes its upper edge.
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
