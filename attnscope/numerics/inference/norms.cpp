#include "attnscope/numerics/inference/norms.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attnscope/numerics/inference/kernels/kernels.h"

namespace attnscope {
namespace {

/// Fallback for CPUs without kernels.
void normalize_plainly(MatrixView<const float> x, bool center, const float* gain, float gain_offset,
                       const float* bias, double epsilon, MatrixView<float> out) {
  const auto n = static_cast<double>(x.cols);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    double mean = 0, squares = 0;
    if (center) {
      for (std::int64_t at = 0; at < x.cols; ++at) mean += static_cast<double>(x(row, at));
      mean /= n;
    }
    for (std::int64_t at = 0; at < x.cols; ++at) {
      const double centered = static_cast<double>(x(row, at)) - mean;
      squares += centered * centered;
    }
    const double factor = 1 / std::sqrt(squares / n + epsilon);
    for (std::int64_t at = 0; at < x.cols; ++at) {
      const auto value = static_cast<float>((static_cast<double>(x(row, at)) - mean) * factor);
      const float scaled = gain ? value * (gain[at] + gain_offset) : value;
      out(row, at) = bias ? scaled + bias[at] : scaled;
    }
  }
}

/// Calls norm(x, out) for blocks of rows.
template <class Norm>
void in_blocks(MatrixView<const float> x, MatrixView<float> out, const Compute& compute,
               const Norm& norm) {
  constexpr std::int64_t kRows = 64;
  run_parts(compute, static_cast<std::size_t>((x.rows + kRows - 1) / kRows),
            [&](std::size_t block) {
              const std::int64_t first = static_cast<std::int64_t>(block) * kRows;
              const std::int64_t count = std::min(kRows, x.rows - first);
              norm(x.row_block(first, count), out.row_block(first, count));
            });
}

const float* data_or_null(std::span<const float> values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace

void layer_norm(MatrixView<const float> x, std::span<const float> gain, std::span<const float> bias,
                double epsilon, MatrixView<float> out, const Compute& compute) {
  const float *gains = data_or_null(gain), *biases = data_or_null(bias);
  in_blocks(x, out, compute, [&](MatrixView<const float> from, MatrixView<float> to) {
    if (compute.kernels.available()) {
      kernels::layer_norm_rows(compute.kernels, from, gains, biases, epsilon, to);
    } else {
      normalize_plainly(from, /*center=*/true, gains, 0, biases, epsilon, to);
    }
  });
}

void rms_norm(MatrixView<const float> x, std::span<const float> gain, float gain_offset,
              double epsilon, MatrixView<float> out, const Compute& compute) {
  const float* gains = data_or_null(gain);
  in_blocks(x, out, compute, [&](MatrixView<const float> from, MatrixView<float> to) {
    if (compute.kernels.available()) {
      kernels::rms_norm_rows(compute.kernels, from, gains, gain_offset, epsilon, to);
    } else {
      normalize_plainly(from, /*center=*/false, gains, gain_offset, nullptr, epsilon, to);
    }
  });
}

}  // namespace attnscope
