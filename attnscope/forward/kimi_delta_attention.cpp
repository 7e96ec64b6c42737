// Kimi Delta Attention; see model/expert_and_mixer_rules.h. Source: transformers,
// modeling_kimi_linear.py.
#include <cmath>
#include <vector>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/mixer_functions.h"
#include "attnscope/forward/mixers.h"
#include "attnscope/numerics/inference/activations.h"
#include "attnscope/numerics/inference/delta_rule.h"

namespace attnscope {

void MixerRun::run_kimi_head(std::int64_t layer, const KimiDeltaWeights& weights,
                             std::size_t sequence, std::int64_t head, MatrixView<float> out) {
  const KimiDeltaSpec& spec = weights.spec;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  const std::int64_t size = spec.head_dim, first = head * size;
  const MatrixView<float> projected = rows_of(sequence, projected_.view());
  const MatrixView<float> convolved = rows_of(sequence, convolved_.view());
  const MatrixView<float> decays = rows_of(sequence, decays_.view()).col_block(first, size);
  const MatrixView<float> gates = rows_of(sequence, gates_.view()).col_block(first, size);

  const float rate = weights.rates[static_cast<std::size_t>(head)];
  const float* rate_bias = weights.rate_bias.data() + first;
  std::vector<float> steps;
  for (std::int64_t token = 0; token < out.rows; ++token) {
    steps.push_back(1 / (1 + std::exp(-projected(token, spec.convolved() + head))));
    for (std::int64_t k = 0; k < size; ++k) {
      float& decay = decays(token, k);
      decay = std::exp(-rate * softplus(decay + rate_bias[k]));
    }
  }

  const States states = states_of(layer, sequence, weights.convolution);
  std::vector<float> own;
  float* state = started_state(states, first * size, size * size, own);
  delta_rule_by_channel({.queries = convolved.col_block(first, size),
                         .keys = convolved.col_block(spec.channels() + first, size),
                         .decays = decays,
                         .values = convolved.col_block(2 * spec.channels() + first, size),
                         .steps = steps},
                        {state, size, size, size, 1}, out, alone);

  apply_norm(weights.norm, out, out, alone);
  activate(Activation::sigmoid, gates, alone);
  for (std::int64_t token = 0; token < out.rows; ++token) {
    for (std::int64_t col = 0; col < size; ++col) out(token, col) *= gates(token, col);
  }
}

void MixerRun::run_kimi_delta(std::int64_t layer, const KimiDeltaWeights& weights,
                              MatrixView<const float> input, MatrixView<float> out) {
  const KimiDeltaSpec& spec = weights.spec;
  const std::int64_t rows = rows_.total, inner = spec.convolved() + spec.heads;
  const MatrixView<float> projected = sized(projected_, rows, spec.projected());
  const MatrixView<float> convolved = sized(convolved_, rows, spec.convolved());
  apply(*weights.input, input, {}, projected, compute_);
  apply(*weights.decay, projected.col_block(inner, spec.head_dim), {},
        sized(decays_, rows, spec.channels()), compute_);
  apply(*weights.gate, projected.col_block(inner + spec.head_dim, spec.head_dim), {},
        sized(gates_, rows, spec.channels()), compute_);
  convolve_all(layer, weights.convolution, projected.col_block(0, spec.convolved()), convolved);
  activate(spec.activation, convolved, compute_);

  const auto heads = static_cast<std::size_t>(spec.heads);
  const float query_scale = 1 / std::sqrt(static_cast<float>(spec.head_dim));
  run_parts(compute_, 2 * heads, [&](std::size_t part) {
    const bool of_queries = part < heads;  // keys follow the queries
    make_unit(convolved.col_block(static_cast<std::int64_t>(part) * spec.head_dim, spec.head_dim),
              of_queries ? query_scale : 1);
  });
  run_parts(compute_, rows_.length.size() * heads, [&](std::size_t part) {
    const std::size_t sequence = part / heads;
    const auto head = static_cast<std::int64_t>(part % heads);
    run_kimi_head(layer, weights, sequence, head,
                  rows_of(sequence, out.col_block(head * spec.head_dim, spec.head_dim)));
  });
}

}  // namespace attnscope
