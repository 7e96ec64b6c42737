// Pictures of other sizes.
#pragma once

#include <cstdint>

#include "attnscope/core/resampling.h"
#include "attnscope/core/signal.h"
#include "attnscope/tokens/picture.h"

namespace attnscope {

/// As resize() of Pillow 13: columns first, then rows, each rounded to 8 bits; rows first where
/// they shrink by more than twice as many. Source: Pillow, Resample.c.
Picture resized(const Picture& picture, std::int64_t rows, std::int64_t cols,
                ResampleFilter filter);

/// The same of numbers, (channels, rows, columns), which are not rounded: torch's
/// interpolate(antialias=True).
Signal resized_numbers(const Signal& image, std::int64_t rows, std::int64_t cols,
                       ResampleFilter filter);

}  // namespace attnscope
