// Mamba; see model/expert_and_mixer_rules.h. Source: transformers, modeling_jamba.py.
#include <algorithm>
#include <vector>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/mixer_functions.h"
#include "attnscope/forward/mixers.h"
#include "attnscope/numerics/inference/activations.h"
#include "attnscope/numerics/inference/selective_scan.h"

namespace attnscope {

/// Scans the channels from `first` on, as many as `out` has columns. Their state is (n, channels).
void MixerRun::scan_channels(std::int64_t layer, const MambaWeights& weights, std::size_t sequence,
                             std::int64_t first, MatrixView<float> out) {
  const MambaSpec& spec = weights.spec;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  const MatrixView<float> x = rows_of(sequence, convolved_.view()).col_block(first, out.cols);
  const MatrixView<float> steps = rows_of(sequence, steps_.view()).col_block(first, out.cols);
  const MatrixView<float> parameters = rows_of(sequence, parameters_.view());
  for (std::int64_t row = 0; row < steps.rows; ++row) {
    for (std::int64_t col = 0; col < steps.cols; ++col) steps(row, col) = softplus(steps(row, col));
  }

  std::vector<float> own;
  const std::int64_t n = spec.state_dim;
  float* state =
      started_state(states_of(layer, sequence, weights.convolution), first * n, n * out.cols, own);
  selective_scan({.values = x,
                  .steps = steps,
                  .inputs = parameters.col_block(spec.step_rank, n),
                  .outputs = parameters.col_block(spec.step_rank + n, n)},
                 weights.rates.view().col_block(first, out.cols), {state, n, out.cols, out.cols, 1},
                 out, alone);
  const float* skip = weights.skip.data() + first;
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) += skip[col] * x(row, col);
  }
}

void MixerRun::run_mamba(std::int64_t layer, const MambaWeights& weights,
                         MatrixView<const float> input, MatrixView<float> out) {
  constexpr std::int64_t kChannels = 256;  // channels per task
  const MambaSpec& spec = weights.spec;
  const MatrixView<float> projected = sized(projected_, rows_.total, 2 * spec.channels);
  apply(*weights.input, input, {}, projected, compute_);
  const MatrixView<float> x = sized(convolved_, rows_.total, spec.channels);
  convolve_all(layer, weights.convolution, projected.col_block(0, spec.channels), x);
  activate(spec.activation, x, compute_);

  const std::int64_t rank = spec.step_rank, n = spec.state_dim;
  const MatrixView<float> parameters = sized(parameters_, rows_.total, rank + 2 * n);
  apply(*weights.parameters, x, {}, parameters, compute_);
  const auto norm_columns = [&](const NormWeights& norm, std::int64_t first, std::int64_t size) {
    const MatrixView<float> columns = parameters.col_block(first, size);
    apply_norm(norm, columns, columns, compute_);
  };
  norm_columns(weights.step_norm, 0, rank);
  norm_columns(weights.input_norm, rank, n);
  norm_columns(weights.output_norm, rank + n, n);
  const MatrixView<float> steps = sized(steps_, rows_.total, spec.channels);
  apply(*weights.steps, parameters.col_block(0, rank), {}, steps, compute_);

  const auto parts = static_cast<std::size_t>((spec.channels + kChannels - 1) / kChannels);
  run_parts(compute_, rows_.length.size() * parts, [&](std::size_t part) {
    const std::size_t sequence = part / parts;
    const std::int64_t first = static_cast<std::int64_t>(part % parts) * kChannels;
    const std::int64_t count = std::min(kChannels, spec.channels - first);
    scan_channels(layer, weights, sequence, first, rows_of(sequence, out.col_block(first, count)));
  });
  apply_silu_gate(projected.col_block(spec.channels, spec.channels), out, compute_);
}

}  // namespace attnscope
