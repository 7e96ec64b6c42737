// Means and ratios with standard errors, of independent values and of consecutive tokens of a text.
// Definitions: docs/metrics.md, "Standard errors".
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace attnscope {

/// Mean over sequences with a standard error. Sequences without a value are not counted.
struct MeanWithError {
  std::optional<double> mean;  // empty without values
  std::optional<double>
      standard_error;  // s / sqrt(N), s² = Σ (x − mean)² / (N − 1); empty for N < 2
};

/// Running mean and sum of squared deviations (Welford 1962). The mean of integers is exact to the
/// last digit.
class RunningMean {
 public:
  void add(std::optional<double> value);
  MeanWithError result() const;

 private:
  std::int64_t count_ = 0;
  double sum_ = 0, mean_ = 0, squares_ = 0;
};

/// Returns R = Σ parts / Σ wholes over independent pairs, with the standard error of a ratio (delta
/// method; Cochran 1977, section 6.3): sqrt(N / (N − 1) Σ (part − R whole)²) / |Σ whole|. If all
/// parts equal their wholes, R = 1 with an error of 0. Empty if Σ wholes is 0. The error is empty
/// for N < 2.
MeanWithError ratio_of_sums(std::span<const double> parts, std::span<const double> wholes);

/// Number of blocks of block_standard_error(), and its minimum number of values.
inline constexpr std::int64_t kErrorBlocks = 16, kFewestBlockValues = 2 * kErrorBlocks;

/// Returns the standard error of the mean of autocorrelated values, such as the losses of a text's
/// tokens. It uses the means of kErrorBlocks blocks (batch means; Schmeiser 1982 recommends 10 to
/// 30). It corrects for the remaining first-order autocorrelation of adjacent blocks (Steiger et
/// al. 2005), without its small-sample bias (Kendall 1954). Empty for fewer than kFewestBlockValues
/// values.
std::optional<double> block_standard_error(std::span<const double> values);

}  // namespace attnscope
