#include "attnscope/inputs/image/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace attnscope {
namespace {

constexpr int kFractionBits = 32 - 8 - 2;  // fraction bits of the integer weights

struct ByteTaps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

std::vector<ByteTaps> byte_taps(ResampleFilter filter, std::int64_t from, std::int64_t to) {
  std::vector<ByteTaps> out;
  for (const ResampleTaps& taps : resample_taps(filter, from, to)) {
    ByteTaps& own = out.emplace_back(ByteTaps{.first = taps.first, .weights = {}});
    for (const double weight : taps.weights) {
      const double scaled = weight * (1 << kFractionBits);
      own.weights.push_back(static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
    }
  }
  return out;
}

/// Returns the weighted sum of bytes that are `step` bytes apart.
std::uint8_t weighted(const ByteTaps& taps, const std::uint8_t* from, std::int64_t step) {
  std::int64_t sum = std::int64_t{1} << (kFractionBits - 1);
  for (const std::int32_t weight : taps.weights) {
    sum += std::int64_t{weight} * *from;
    from += step;
  }
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kFractionBits, 0, 255));
}

RgbImage with_cols(const RgbImage& rgb_image, std::int64_t cols, ResampleFilter filter) {
  const std::vector<ByteTaps> taps = byte_taps(filter, rgb_image.cols, cols);
  RgbImage out{.rows = rgb_image.rows, .cols = cols, .rgb = {}};
  out.rgb.resize(static_cast<std::size_t>(out.rows * cols) * 3);
  for (std::int64_t row = 0; row < out.rows; ++row) {
    std::uint8_t* to = out.row(row);
    for (const ByteTaps& of : taps) {
      for (int channel = 0; channel < 3; ++channel) {
        *to++ = weighted(of, rgb_image.row(row) + 3 * of.first + channel, 3);
      }
    }
  }
  return out;
}

RgbImage with_rows(const RgbImage& rgb_image, std::int64_t rows, ResampleFilter filter) {
  const std::vector<ByteTaps> taps = byte_taps(filter, rgb_image.rows, rows);
  const std::int64_t line = 3 * rgb_image.cols;
  RgbImage out{.rows = rows, .cols = rgb_image.cols, .rgb = {}};
  out.rgb.resize(static_cast<std::size_t>(rows * line));
  for (std::int64_t row = 0; row < rows; ++row) {
    const ByteTaps& of = taps[static_cast<std::size_t>(row)];
    std::uint8_t* to = out.row(row);
    for (std::int64_t at = 0; at < line; ++at) {
      *to++ = weighted(of, rgb_image.row(of.first) + at, line);
    }
  }
  return out;
}

}  // namespace

RgbImage resized(const RgbImage& rgb_image, std::int64_t rows, std::int64_t cols,
                 ResampleFilter filter) {
  const bool rows_first =
      rows < rgb_image.rows && rgb_image.rows - rows > 2 * (rgb_image.cols - cols);
  RgbImage out = rows_first ? with_rows(rgb_image, rows, filter) : rgb_image;
  if (cols != out.cols) out = with_cols(out, cols, filter);
  return rows == out.rows ? out : with_rows(out, rows, filter);
}

MediaInput resized_numbers(const MediaInput& image, std::int64_t rows, std::int64_t cols,
                           ResampleFilter filter) {
  const std::int64_t channels = image.shape[0], old_rows = image.shape[1],
                     old_cols = image.shape[2];
  const auto of_cols = resample_taps(filter, old_cols, cols);
  const auto of_rows = resample_taps(filter, old_rows, rows);
  std::vector<float> narrow(static_cast<std::size_t>(channels * old_rows * cols));
  for (std::int64_t line = 0; line < channels * old_rows; ++line) {
    for (std::int64_t col = 0; col < cols; ++col) {
      const ResampleTaps& taps = of_cols[static_cast<std::size_t>(col)];
      const float* from = image.values.data() + line * old_cols + taps.first;
      double sum = 0;
      for (const double weight : taps.weights) sum += weight * static_cast<double>(*from++);
      narrow[static_cast<std::size_t>(line * cols + col)] = static_cast<float>(sum);
    }
  }
  MediaInput out{.shape = {channels, rows, cols}, .values = {}};
  out.values.reserve(static_cast<std::size_t>(channels * rows * cols));
  for (std::int64_t line = 0; line < channels * rows; ++line) {
    const ResampleTaps& taps = of_rows[static_cast<std::size_t>(line % rows)];
    const float* above = narrow.data() + (line / rows * old_rows + taps.first) * cols;
    for (std::int64_t col = 0; col < cols; ++col) {
      double sum = 0;
      const float* from = above + col;
      for (const double weight : taps.weights) {
        sum += weight * static_cast<double>(*from);
        from += cols;
      }
      out.values.push_back(static_cast<float>(sum));
    }
  }
  return out;
}

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
             (double{0.54F} + double{0.46F} * std::cos(std::numbers::pi * x));  // float32 in torch
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
  double place = 0.5 * step;  // accumulated like in Pillow, because rounding decides between
                              // adjacent pixels
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
