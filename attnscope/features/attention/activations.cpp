#include "attnscope/features/attention/activations.h"

#include <algorithm>
#include <cmath>

namespace attnscope {
namespace {

/// Median of at least one value, which it reorders. For an even number of values: the mean of the
/// two middle ones.
double median_magnitude(std::vector<float>& magnitudes) {
  const auto middle = magnitudes.begin() + std::ssize(magnitudes) / 2;
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  const auto upper = static_cast<double>(*middle);
  if (magnitudes.size() % 2 == 1) return upper;
  return (static_cast<double>(*std::max_element(magnitudes.begin(), middle)) + upper) / 2;
}

}  // namespace

LargestActivation largest_activation(MatrixView<const float> states) {
  LargestActivation out;
  std::vector<float> magnitudes;
  magnitudes.reserve(static_cast<std::size_t>(states.rows * states.cols));
  float largest = -1;
  for (std::int64_t row = 0; row < states.rows; ++row) {
    for (std::int64_t col = 0; col < states.cols; ++col) {
      const float magnitude = std::fabs(states(row, col));
      magnitudes.push_back(magnitude);
      if (magnitude <= largest) continue;
      largest = magnitude;
      out.position = row;
      out.dimension = col;
    }
  }
  out.magnitude = static_cast<double>(largest);
  out.median = median_magnitude(magnitudes);
  return out;
}

void count_outliers(MatrixView<const float> states, std::span<std::int64_t> counts) {
  for (std::int64_t row = 0; row < states.rows; ++row) {
    for (std::int64_t col = 0; col < states.cols; ++col) {
      if (std::fabs(states(row, col)) >= static_cast<float>(kOutlierMagnitude)) {
        ++counts[static_cast<std::size_t>(col)];
      }
    }
  }
}

std::vector<std::int64_t> outlier_dimensions(std::span<const std::int64_t> counts,
                                             std::int64_t positions) {
  std::vector<std::int64_t> found;
  for (std::size_t dimension = 0; dimension < counts.size(); ++dimension) {
    const auto count = static_cast<double>(counts[dimension]);
    if (count > 0 && count >= kOutlierShare * static_cast<double>(positions)) {
      found.push_back(static_cast<std::int64_t>(dimension));
    }
  }
  std::stable_sort(found.begin(), found.end(), [&](std::int64_t a, std::int64_t b) {
    return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
  });
  return found;
}

}  // namespace attnscope
