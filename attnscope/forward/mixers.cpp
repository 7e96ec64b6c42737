#include "attnscope/forward/mixers.h"

#include <algorithm>
#include <cstddef>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/numerics/inference/activations.h"

namespace attnscope {

MixerRun::States MixerRun::states_of(std::int64_t layer, std::size_t sequence,
                                     const CausalConvolution& of) const {
  if (caches_.empty()) return {};
  const std::int64_t rows = of.kernel - 1;
  const auto count = static_cast<std::size_t>(rows * of.channels);
  States out;
  const std::span<const float> past = caches_[sequence].state(layer);
  if (!past.empty()) {
    out.past_rows = {past.data(), rows, of.channels, of.channels, 1};
    out.past = past.subspan(count);
  }
  const std::span<float> next = caches_[sequence].next_state(layer);
  out.next_rows = {next.data(), rows, of.channels, of.channels, 1};
  out.next = next.subspan(count);
  return out;
}

float* MixerRun::started_state(const States& states, std::int64_t first, std::int64_t size,
                               std::vector<float>& own) {
  if (states.next.empty()) {
    own.assign(static_cast<std::size_t>(size), 0.0F);
    return own.data();
  }
  float* state = states.next.data() + first;
  if (states.past.empty()) {
    std::fill_n(state, size, 0.0F);
  } else {
    std::copy_n(states.past.data() + first, size, state);
  }
  return state;
}

void MixerRun::convolve_all(std::int64_t layer, const CausalConvolution& convolution,
                            MatrixView<float> input, MatrixView<float> out) {
  for (std::size_t sequence = 0; sequence < rows_.length.size(); ++sequence) {
    const States states = states_of(layer, sequence, convolution);
    const MatrixView<float> own = rows_of(sequence, input);
    convolve(convolution, states.past_rows, own, rows_of(sequence, out), compute_);
    if (!caches_.empty()) keep_last_rows(states.past_rows, own, states.next_rows);
  }
}

void MixerRun::run_short_convolution(std::int64_t layer, const ShortConvolutionWeights& weights,
                                     MatrixView<const float> input, MatrixView<float> out) {
  const std::int64_t width = out.cols;
  const MatrixView<float> projected = sized(projected_, rows_.total, 3 * width);
  apply(*weights.input, input, {}, projected, compute_);
  const MatrixView<float> gated = projected.col_block(0, width);
  const MatrixView<float> outer = projected.col_block(width, width);
  const MatrixView<float> x = projected.col_block(2 * width, width);
  for (std::int64_t row = 0; row < rows_.total; ++row) {
    for (std::int64_t col = 0; col < width; ++col) gated(row, col) *= x(row, col);
  }
  convolve_all(layer, weights.convolution, gated, out);
  for (std::int64_t row = 0; row < rows_.total; ++row) {
    for (std::int64_t col = 0; col < width; ++col) out(row, col) *= outer(row, col);
  }
}

void MixerRun::run(std::int64_t layer, const MixerWeights& weights, MatrixView<const float> input,
                   MatrixView<float> out) {
  if (weights.delta_net) {
    run_delta_net(layer, *weights.delta_net, input, out);
  } else if (weights.kimi_delta) {
    run_kimi_delta(layer, *weights.kimi_delta, input, out);
  } else if (weights.rg_lru) {
    run_rg_lru(layer, *weights.rg_lru, input, out);
  } else if (weights.mamba) {
    run_mamba(layer, *weights.mamba, input, out);
  } else if (weights.mamba2) {
    run_mamba2(layer, *weights.mamba2, input, out);
  } else if (weights.lightning) {
    run_lightning(layer, *weights.lightning, input, out);
  } else {
    run_short_convolution(layer, *weights.short_convolution, input, out);
  }
}

void apply_silu_gate(MatrixView<float> gate, MatrixView<float> rows, const Compute& compute) {
  activate(Activation::silu, gate, compute);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    float* values = &rows(row, 0);
    const float* factors = &gate(row, 0);
    for (std::int64_t col = 0; col < rows.cols; ++col) values[col] *= factors[col];
  }
}

namespace {

/// Returns a row, counted from x's first row. Null before the text.
const float* row_at(std::int64_t row, MatrixView<const float> past, MatrixView<const float> x) {
  if (row >= 0) return &x(row, 0);
  return past.data == nullptr ? nullptr : &past(past.rows + row, 0);
}

}  // namespace

void convolve(const CausalConvolution& convolution, MatrixView<const float> past,
              MatrixView<const float> x, MatrixView<float> out, const Compute& compute) {
  constexpr std::int64_t kChannels = 256;  // channels per task
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
