#include "attnscope/numerics/statistics/running_mean.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace attnscope {

void RunningMean::add(std::optional<double> value) {
  if (!value) return;
  ++count_;
  sum_ += *value;
  const double before = *value - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (*value - mean_);
}

MeanWithError RunningMean::result() const {
  MeanWithError out;
  if (count_ == 0) return out;
  const auto count = static_cast<double>(count_);
  out.mean = sum_ / count;
  if (count_ > 1) out.standard_error = std::sqrt(squares_ / (count - 1) / count);
  return out;
}

MeanWithError ratio_of_sums(std::span<const double> parts, std::span<const double> wholes) {
  const double whole = std::accumulate(wholes.begin(), wholes.end(), 0.0);
  if (whole == 0) return {};
  const double ratio = std::accumulate(parts.begin(), parts.end(), 0.0) / whole;
  MeanWithError out{.mean = ratio, .standard_error = {}};
  if (parts.size() < 2) return out;
  double squares = 0;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const double apart = parts[at] - ratio * wholes[at];
    squares += apart * apart;
  }
  const auto count = static_cast<double>(parts.size());
  out.standard_error = std::sqrt(count / (count - 1) * squares) / std::abs(whole);
  return out;
}

std::optional<double> block_standard_error(std::span<const double> values) {
  const std::int64_t count = std::ssize(values);
  if (count < kFewestBlockValues) return std::nullopt;
  constexpr auto kBlocks = static_cast<double>(kErrorBlocks);
  std::array<double, kErrorBlocks> apart;  // a block's mean minus the mean of all blocks
  double mean = 0;
  for (std::int64_t block = 0; block < kErrorBlocks; ++block) {
    const std::int64_t begin = count * block / kErrorBlocks;
    const std::int64_t end = count * (block + 1) / kErrorBlocks;
    const double sum = std::accumulate(values.begin() + begin, values.begin() + end, 0.0);
    apart[static_cast<std::size_t>(block)] = sum / static_cast<double>(end - begin);
    mean += apart[static_cast<std::size_t>(block)] / kBlocks;
  }
  double squares = 0, products = 0;
  for (std::size_t block = 0; block < apart.size(); ++block) {
    apart[block] -= mean;
    squares += apart[block] * apart[block];
    if (block > 0) products += apart[block] * apart[block - 1];
  }
  if (squares == 0) return 0.0;
  // For N values around their own mean, the estimated autocorrelation is biased to about ρ − (1 + 3
  // ρ) / N.
  constexpr double kMost = 0.9;  // above what text blocks have, and what N blocks can show
  const double found = products / squares;
  const double shared = std::clamp(found + (1 + 3 * found) / kBlocks, 0.0, kMost);
  return std::sqrt(squares / (kBlocks - 1) / kBlocks * (1 + shared) / (1 - shared));
}

}  // namespace attnscope
