// Means and ratios with their standard errors, of independent values and of a text's neighbors.
// Definitions: docs/metrics.md, "Standard errors".
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace attnscope {

/// Of one number over sequences; those without a value do not count.
struct MeanWithError {
  std::optional<double> mean;  // none of no value
  std::optional<double>
      standard_error;  // s / sqrt(N), s² = Σ (x − mean)² / (N − 1); none for N < 2
};

/// A mean and the squares around it, value by value (Welford 1962). The mean of whole numbers is
/// exact to the last digit.
class RunningMean {
 public:
  void add(std::optional<double> value);
  MeanWithError result() const;

 private:
  std::int64_t count_ = 0;
  double sum_ = 0, mean_ = 0, squares_ = 0;
};

/// R = Σ parts / Σ wholes over independent pairs, with the standard error of a ratio of two random
/// sums (delta method; Cochran 1977, section 6.3): sqrt(N / (N − 1) Σ (part − R whole)²) / |Σ
/// whole|. Parts that equal their wholes have R = 1 and an error of 0. None where Σ wholes is 0;
/// the error is none for N < 2.
MeanWithError ratio_of_sums(std::span<const double> parts, std::span<const double> wholes);

/// Blocks that block_standard_error() cuts, and the fewest values that it takes.
inline constexpr std::int64_t kErrorBlocks = 16, kFewestBlockValues = 2 * kErrorBlocks;

/// The standard error of the mean of values that follow each other, such as the losses of a text's
/// tokens, of which neighbors are alike: from the means of kErrorBlocks blocks (batch means;
/// Schmeiser 1982 recommends 10 to 30), widened for what blocks still share with the next one, an
/// autocorrelation of first order (Steiger et al. 2005), without its small-sample bias (Kendall
/// 1954). None for fewer than kFewestBlockValues values.
std::optional<double> block_standard_error(std::span<const double> values);

}  // namespace attnscope
