// Resizing of images.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/inputs/image/image_file.h"

namespace attnscope {

// Resampling weights along one axis: for each output element, the input elements and their weights.

/// The filters of Pillow's resize(), with Pillow's names.
enum class ResampleFilter { nearest, box, bilinear, hamming, bicubic, lanczos };

/// The weights of one output element.
struct ResampleTaps {
  std::int64_t first = 0;       // first input element
  std::vector<double> weights;  // weights of it and the following elements; their sum is 1
};

/// Resampling from `from` > 0 to `to` > 0 elements. When downsampling, the filter is widened so
/// that every input element contributes. Source: Pillow, Resample.c; torch's
/// interpolate(antialias=True) uses the same weights.
std::vector<ResampleTaps> resample_taps(ResampleFilter filter, std::int64_t from, std::int64_t to);

/// The cubic weights of torch's interpolate() without antialias: not widened, with a = -0.75.
/// Beyond either end, the last element is repeated.
std::vector<ResampleTaps> plain_cubic_taps(std::int64_t from, std::int64_t to);

/// Resizes like Pillow 13's resize(): columns first, then rows, each rounded to 8 bits. Rows come
/// first if their number decreases more than twice as much as the number of columns. Source:
/// Pillow, Resample.c.
RgbImage resized(const RgbImage& rgb_image, std::int64_t rows, std::int64_t cols,
                 ResampleFilter filter);

/// Resizes real numbers, (channels, rows, columns), without rounding, like torch's
/// interpolate(antialias=True).
MediaInput resized_numbers(const MediaInput& image, std::int64_t rows, std::int64_t cols,
                           ResampleFilter filter);

}  // namespace attnscope
