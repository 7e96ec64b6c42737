#include "attnscope/core/resampling.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace attnscope {
namespace {

double sinc(double x) {
  return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

/// Source: Keys 1981.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double support_of(ResampleFilter filter) {
  switch (filter) {
    case ResampleFilter::nearest: return 0;
    case ResampleFilter::box: return 0.5;
    case ResampleFilter::bilinear:
    case ResampleFilter::hamming: return 1;
    case ResampleFilter::bicubic: return 2;
    case ResampleFilter::lanczos: return 3;
  }
  return 0;
}

double weight_at(ResampleFilter filter, double x) {
  switch (filter) {
    case ResampleFilter::nearest: return 1;
    case ResampleFilter::box: return x > -0.5 && x <= 0.5 ? 1 : 0;
    case ResampleFilter::bilinear: return std::max(0.0, 1 - std::abs(x));
    case ResampleFilter::hamming:
      if (std::abs(x) >= 1) return 0;
      return sinc(x) *
             (double{0.54F} + double{0.46F} * std::cos(std::numbers::pi * x));  // float32 there
    case ResampleFilter::bicubic: return cubic(x, -0.5);
    case ResampleFilter::lanczos: return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
  }
  return 0;
}

}  // namespace

std::vector<ResampleTaps> resample_taps(ResampleFilter filter, std::int64_t from, std::int64_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(step, 1.0);
  const double support = support_of(filter) * stretch;
  std::vector<ResampleTaps> all;
  double place = 0.5 * step;  // summed up, as Pillow does: rounding decides between neighbours
  for (std::int64_t at = 0; at < to; ++at) {
    if (filter == ResampleFilter::nearest) {
      all.push_back({std::min(static_cast<std::int64_t>(place), from - 1), {1}});
      place += step;
      continue;
    }
    const double center = (static_cast<double>(at) + 0.5) * step;
    const auto first =
        std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(center - support + 0.5)), 0);
    const auto end =
        std::min<std::int64_t>(static_cast<std::int64_t>(std::floor(center + support + 0.5)), from);
    ResampleTaps taps{.first = first, .weights = {}};
    for (std::int64_t old = first; old < end; ++old) {
      taps.weights.push_back(
          weight_at(filter, (static_cast<double>(old) - center + 0.5) * (1 / stretch)));
    }
    const double sum = std::accumulate(taps.weights.begin(), taps.weights.end(), 0.0);
    if (sum != 0) {
      for (double& weight : taps.weights) weight /= sum;
    }
    all.push_back(std::move(taps));
  }
  return all;
}

std::vector<ResampleTaps> plain_cubic_taps(std::int64_t from, std::int64_t to) {
  constexpr double kSharpness = -0.75;
  const double step = static_cast<double>(from) / static_cast<double>(to);
  std::vector<ResampleTaps> all;
  for (std::int64_t at = 0; at < to; ++at) {
    const double place = step * (static_cast<double>(at) + 0.5) - 0.5;
    const double below = std::floor(place);
    const auto clamped = [&](std::int64_t old) {
      return std::clamp<std::int64_t>(old, 0, from - 1);
    };
    const auto begin = static_cast<std::int64_t>(below) - 1;
    ResampleTaps taps{.first = clamped(begin), .weights = {}};
    taps.weights.resize(static_cast<std::size_t>(clamped(begin + 3) - taps.first + 1));
    for (std::int64_t old = begin; old < begin + 4; ++old) {
      taps.weights[static_cast<std::size_t>(clamped(old) - taps.first)] +=
          cubic(static_cast<double>(old) - place, kSharpness);
    }
    all.push_back(std::move(taps));
  }
  return all;
}

}  // namespace attnscope
