#include "attnscope/forward/mixer_run.h"

#include "attnscope/forward/causal_convolution.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/sized.h"

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
  for (std::size_t sequence = 0; sequence < rows_.length.size(); ++sequence) {
    const States states = states_of(layer, sequence, weights.convolution);
    const MatrixView<float> own = rows_of(sequence, gated);
    convolve(weights.convolution, states.past_rows, own, rows_of(sequence, out), compute_);
    if (!caches_.empty()) keep_last_rows(states.past_rows, own, states.next_rows);
  }
  for (std::int64_t row = 0; row < rows_.total; ++row) {
    for (std::int64_t col = 0; col < width; ++col) out(row, col) *= outer(row, col);
  }
}

void MixerRun::run(std::int64_t layer, const MixerWeights& weights, MatrixView<const float> input,
                   MatrixView<float> out) {
  if (weights.delta_net) {
    run_delta_net(layer, *weights.delta_net, input, out);
  } else {
    run_short_convolution(layer, *weights.short_convolution, input, out);
  }
}

}  // namespace attnscope
