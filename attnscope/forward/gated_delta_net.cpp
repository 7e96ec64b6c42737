// Gated DeltaNet; see model/expert_and_mixer_rules.h. Source: transformers, modeling_qwen3_next.py.
#include "attnscope/numerics/inference/delta_rule.h"

#include <cmath>
#include <vector>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/mixer_functions.h"
#include "attnscope/forward/mixers.h"
#include "attnscope/numerics/inference/activations.h"

namespace attnscope {
void MixerRun::run_delta_head(std::int64_t layer, const DeltaNetWeights& weights,
                              std::size_t sequence, std::int64_t head, MatrixView<float> out) {
  const DeltaNetSpec& spec = weights.spec;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  const MatrixView<float> projected = rows_of(sequence, projected_.view());
  const MatrixView<float> convolved = rows_of(sequence, convolved_.view());
  const std::int64_t key_head = head / (spec.value_heads / spec.key_heads);
  const auto at = static_cast<std::size_t>(head);

  const std::int64_t steps_at = spec.convolved() + spec.values() + head;
  const auto tokens = static_cast<std::size_t>(projected.rows);
  std::vector<float> decays(tokens), steps(tokens);
  for (std::size_t token = 0; token < tokens; ++token) {
    const auto row = static_cast<std::int64_t>(token);
    const float b = projected(row, steps_at), a = projected(row, steps_at + spec.value_heads);
    steps[token] = 1 / (1 + std::exp(-b));
    decays[token] = std::exp(-weights.rates[at] * softplus(a + weights.rate_bias[at]));
  }

  const States states = states_of(layer, sequence, weights.convolution);
  const std::int64_t size = spec.key_dim * spec.value_dim;
  std::vector<float> own;
  float* state = started_state(states, head * size, size, own);
  delta_rule(
      {.queries = convolved.col_block(key_head * spec.key_dim, spec.key_dim),
       .keys = convolved.col_block(spec.keys() + key_head * spec.key_dim, spec.key_dim),
       .values = convolved.col_block(2 * spec.keys() + head * spec.value_dim, spec.value_dim),
       .decays = decays,
       .steps = steps},
      {state, spec.key_dim, spec.value_dim, spec.value_dim, 1}, out, alone);

  apply_norm(weights.norm, out, out, alone);
  const MatrixView<float> gate =
      projected.col_block(spec.convolved() + head * spec.value_dim, spec.value_dim);
  apply_silu_gate(gate, out, alone);
}

void MixerRun::run_delta_net(std::int64_t layer, const DeltaNetWeights& weights,
                             MatrixView<const float> input, MatrixView<float> out) {
  const DeltaNetSpec& spec = weights.spec;
  const MatrixView<float> projected = sized(projected_, rows_.total, spec.projected());
  apply(*weights.input, input, {}, projected, compute_);
  const MatrixView<float> convolved = sized(convolved_, rows_.total, spec.convolved());
  const std::size_t sequences = rows_.length.size();
  convolve_all(layer, weights.convolution, projected.col_block(0, spec.convolved()), convolved);
  activate(spec.activation, convolved, compute_);

  const auto key_heads = static_cast<std::size_t>(spec.key_heads);
  const float query_scale = 1 / std::sqrt(static_cast<float>(spec.key_dim));
  run_parts(compute_, 2 * key_heads, [&](std::size_t part) {
    const bool of_queries = part < key_heads;  // keys follow the queries
    make_unit(convolved.col_block(static_cast<std::int64_t>(part) * spec.key_dim, spec.key_dim),
              of_queries ? query_scale : 1);
  });
  const auto value_heads = static_cast<std::size_t>(spec.value_heads);
  run_parts(compute_, sequences * value_heads, [&](std::size_t part) {
    const std::size_t sequence = part / value_heads;
    const auto head = static_cast<std::int64_t>(part % value_heads);
    run_delta_head(layer, weights, sequence, head,
                   rows_of(sequence, out.col_block(head * spec.value_dim, spec.value_dim)));
  });
}

}  // namespace attnscope
