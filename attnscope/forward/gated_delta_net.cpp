// Gated DeltaNet; see model/expert_and_mixer_rules.h. Source: transformers, modeling_qwen3_next.py.
#include "attnscope/numerics/inference/delta_rule.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/mixers.h"
#include "attnscope/numerics/inference/activations.h"

namespace attnscope {
namespace {

/// Replaces each row x by factor · x / sqrt(Σ x² + 1e-6).
void make_unit(MatrixView<float> rows, float factor) {
  constexpr float kEpsilon = 1e-6F;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    float squares = 0;
    for (std::int64_t col = 0; col < rows.cols; ++col) squares += rows(row, col) * rows(row, col);
    const float scale = factor / std::sqrt(squares + kEpsilon);
    for (std::int64_t col = 0; col < rows.cols; ++col) rows(row, col) *= scale;
  }
}

float softplus(float x) {
  constexpr float kLinear = 20;  // softplus(x) = x above this, as in PyTorch
  return x > kLinear ? x : std::log1p(std::exp(x));
}

}  // namespace

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
  float* state = nullptr;
  if (states.next.empty()) {
    own.resize(static_cast<std::size_t>(size));
    state = own.data();
  } else {
    state = states.next.data() + head * size;
    if (states.past.empty()) {
      std::fill_n(state, size, 0.0F);
    } else {
      std::copy_n(states.past.data() + head * size, size, state);
    }
  }
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
  activate(Activation::silu, gate, alone);
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) *= gate(row, col);
  }
}

void MixerRun::run_delta_net(std::int64_t layer, const DeltaNetWeights& weights,
                             MatrixView<const float> input, MatrixView<float> out) {
  const DeltaNetSpec& spec = weights.spec;
  const MatrixView<float> projected = sized(projected_, rows_.total, spec.projected());
  const MatrixView<float> convolved = sized(convolved_, rows_.total, spec.convolved());
  apply(*weights.input, input, {}, projected, compute_);
  const std::size_t sequences = rows_.length.size();
  for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
    const States states = states_of(layer, sequence, weights.convolution);
    const MatrixView<float> own = rows_of(sequence, projected.col_block(0, spec.convolved()));
    convolve(weights.convolution, states.past_rows, own, rows_of(sequence, convolved), compute_);
    if (!caches_.empty()) keep_last_rows(states.past_rows, own, states.next_rows);
  }
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
