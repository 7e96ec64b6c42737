// Pictures of other sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/inputs/image/image_file.h"

namespace attnscope {

// How an axis is resampled: of which elements, and how much of each, every new one is made.

/// The filters of Pillow's resize(), by their names there.
enum class ResampleFilter { nearest, box, bilinear, hamming, bicubic, lanczos };

/// Of one new element.
struct ResampleTaps {
  std::int64_t first = 0;       // of the old elements
  std::vector<double> weights;  // of it and those after it; their sum is 1
};

/// From `from` > 0 elements to `to` > 0. Where these are fewer, the filter is stretched, so that
/// every old one counts. Source: Pillow, Resample.c; torch's interpolate(antialias=True) has the
/// same ones.
std::vector<ResampleTaps> resample_taps(ResampleFilter filter, std::int64_t from, std::int64_t to);

/// The cubic ones of torch's interpolate() without antialias: not stretched, with a = -0.75, and
/// what is beyond an end is the last element.
std::vector<ResampleTaps> plain_cubic_taps(std::int64_t from, std::int64_t to);

/// As resize() of Pillow 13: columns first, then rows, each rounded to 8 bits; rows first where
/// they shrink by more than twice as many. Source: Pillow, Resample.c.
RgbImage resized(const RgbImage& rgb_image, std::int64_t rows, std::int64_t cols,
                 ResampleFilter filter);

/// The same of numbers, (channels, rows, columns), which are not rounded: torch's
/// interpolate(antialias=True).
MediaInput resized_numbers(const MediaInput& image, std::int64_t rows, std::int64_t cols,
                           ResampleFilter filter);

}  // namespace attnscope
