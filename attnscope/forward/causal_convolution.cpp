#include "attnscope/forward/causal_convolution.h"

#include <algorithm>
#include <cstddef>

namespace attnscope {
namespace {

/// The row of that number, counted from x's first; null before the text.
const float* row_at(std::int64_t row, MatrixView<const float> past, MatrixView<const float> x) {
  if (row >= 0) return &x(row, 0);
  return past.data == nullptr ? nullptr : &past(past.rows + row, 0);
}

}  // namespace

void convolve(const CausalConvolution& convolution, MatrixView<const float> past,
              MatrixView<const float> x, MatrixView<float> out, const Compute& compute) {
  constexpr std::int64_t kChannels = 256;  // of a part
  const std::int64_t channels = convolution.channels, kernel = convolution.kernel;
  const auto parts = static_cast<std::size_t>((channels + kChannels - 1) / kChannels);
  run_parts(compute, parts, [&](std::size_t part) {
    const std::int64_t first = static_cast<std::int64_t>(part) * kChannels;
    const std::int64_t count = std::min(kChannels, channels - first);
    for (std::int64_t token = 0; token < x.rows; ++token) {
      float* to = &out(token, first);
      if (convolution.bias.empty()) {
        std::fill_n(to, count, 0.0F);
      } else {
        std::copy_n(convolution.bias.data() + first, count, to);
      }
      for (std::int64_t tap = 0; tap < kernel; ++tap) {
        const float* from = row_at(token - kernel + 1 + tap, past, x);
        if (from == nullptr) continue;
        from += first;
        const float* taps = convolution.taps.data() + tap * channels + first;
        for (std::int64_t at = 0; at < count; ++at) to[at] += taps[at] * from[at];
      }
    }
  });
}

void keep_last_rows(MatrixView<const float> past, MatrixView<const float> x,
                    MatrixView<float> next) {
  for (std::int64_t row = 0; row < next.rows; ++row) {
    const float* from = row_at(x.rows - next.rows + row, past, x);
    if (from == nullptr) {
      std::fill_n(&next(row, 0), next.cols, 0.0F);
    } else {
      std::copy_n(from, next.cols, &next(row, 0));
    }
  }
}

}  // namespace attnscope
