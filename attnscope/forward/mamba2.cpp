// Mamba-2; see model/expert_and_mixer_rules.h. Source: transformers, modeling_bamba.py.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/mixer_functions.h"
#include "attnscope/forward/mixers.h"
#include "attnscope/numerics/inference/activations.h"
#include "attnscope/numerics/inference/delta_rule.h"
#include "attnscope/numerics/inference/norms.h"

namespace attnscope {
namespace {

/// Multiplies z, x, B, C and the steps by their factors.
void scale_parts(const Mamba2Spec& spec, MatrixView<float> projected) {
  if (spec.projection_factors.empty()) return;
  std::int64_t first = 0;
  std::size_t part = 0;
  for (const std::int64_t size :
       {spec.channels(), spec.channels(), spec.shared(), spec.shared(), spec.heads}) {
    const auto factor = static_cast<float>(spec.projection_factors[part++]);
    for (std::int64_t row = 0; row < projected.rows; ++row) {
      float* values = &projected(row, first);
      for (std::int64_t col = 0; col < size; ++col) values[col] *= factor;
    }
    first += size;
  }
}

/// Normalizes the channels of each group.
void norm_groups(const Mamba2Weights& weights, MatrixView<float> rows, const Compute& compute) {
  const Mamba2Spec& spec = weights.spec;
  const std::int64_t size = spec.channels() / spec.groups;
  for (std::int64_t group = 0; group < spec.groups; ++group) {
    const MatrixView<float> own = rows.col_block(group * size, size);
    const auto gain =
        std::span(weights.gain)
            .subspan(static_cast<std::size_t>(group * size), static_cast<std::size_t>(size));
    rms_norm(own, gain, /*gain_offset=*/0, spec.epsilon, own, compute);
  }
}

}  // namespace

void MixerRun::run_mamba2_head(std::int64_t layer, const Mamba2Weights& weights,
                               std::size_t sequence, std::int64_t head, MatrixView<float> out) {
  const Mamba2Spec& spec = weights.spec;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  const MatrixView<float> projected = rows_of(sequence, projected_.view());
  const MatrixView<float> convolved = rows_of(sequence, convolved_.view());
  const auto at = static_cast<std::size_t>(head), tokens = static_cast<std::size_t>(out.rows);
  const auto least = static_cast<float>(spec.least_step);

  std::vector<float> decays(tokens), steps(tokens);
  for (std::size_t token = 0; token < tokens; ++token) {
    const float stored =
        projected(static_cast<std::int64_t>(token), spec.channels() + spec.convolved() + head);
    float step = std::max(softplus(stored + weights.step_bias[at]), least);
    if (spec.most_step) step = std::min(step, static_cast<float>(*spec.most_step));
    steps[token] = step;
    decays[token] = std::exp(weights.rates[at] * step);
  }

  std::vector<float> own;
  const std::int64_t size = spec.state_dim * spec.head_dim;
  float* state =
      started_state(states_of(layer, sequence, weights.convolution), head * size, size, own);
  const std::int64_t group = head / (spec.heads / spec.groups);
  const std::int64_t inputs_at = spec.channels() + group * spec.state_dim;
  const MatrixView<float> x = convolved.col_block(head * spec.head_dim, spec.head_dim);
  delta_rule({.queries = convolved.col_block(inputs_at + spec.shared(), spec.state_dim),
              .keys = convolved.col_block(inputs_at, spec.state_dim),
              .values = x,
              .decays = decays,
              .steps = steps,
              .corrects = false},
             {state, spec.state_dim, spec.head_dim, spec.head_dim, 1}, out, alone);
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t col = 0; col < out.cols; ++col) {
      out(row, col) += weights.skip[at] * x(row, col);
    }
  }
}

void MixerRun::run_mamba2(std::int64_t layer, const Mamba2Weights& weights,
                          MatrixView<const float> input, MatrixView<float> out) {
  const Mamba2Spec& spec = weights.spec;
  if (spec.input_factor != 1) {
    const auto factor = static_cast<float>(spec.input_factor);
    const MatrixView<float> scaled = sized(scaled_, input.rows, input.cols);
    copy_into(scaled, input);
    for (std::int64_t at = 0; at < input.rows * input.cols; ++at) scaled.data[at] *= factor;
    input = scaled;
  }
  const MatrixView<float> projected = sized(projected_, rows_.total, spec.projected());
  apply(*weights.input, input, {}, projected, compute_);
  scale_parts(spec, projected);
  const MatrixView<float> convolved = sized(convolved_, rows_.total, spec.convolved());
  convolve_all(layer, weights.convolution, projected.col_block(spec.channels(), spec.convolved()),
               convolved);
  activate(spec.activation, convolved, compute_);

  const auto heads = static_cast<std::size_t>(spec.heads);
  run_parts(compute_, rows_.length.size() * heads, [&](std::size_t part) {
    const std::size_t sequence = part / heads;
    const auto head = static_cast<std::int64_t>(part % heads);
    run_mamba2_head(layer, weights, sequence, head,
                    rows_of(sequence, out.col_block(head * spec.head_dim, spec.head_dim)));
  });
  if (spec.normalized && spec.norm_first) norm_groups(weights, out, compute_);
  apply_silu_gate(projected.col_block(0, spec.channels()), out, compute_);
  if (spec.normalized && !spec.norm_first) norm_groups(weights, out, compute_);
}

}  // namespace attnscope
