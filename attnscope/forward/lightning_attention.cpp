// Lightning attention; see model/expert_and_mixer_rules.h. Source: transformers,
// modeling_minimax.py, whose blocks compute the same recurrence.
#include <vector>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/mixers.h"
#include "attnscope/numerics/inference/activations.h"
#include "attnscope/numerics/inference/delta_rule.h"

namespace attnscope {

void MixerRun::run_lightning(std::int64_t layer, const LightningWeights& weights,
                             MatrixView<const float> input, MatrixView<float> out) {
  const LightningSpec& spec = weights.spec;
  const std::int64_t channels = spec.channels(), size = spec.head_dim;
  const MatrixView<float> projected = sized(projected_, rows_.total, 3 * channels);
  apply(*weights.input, input, {}, projected, compute_);
  activate(spec.activation, projected, compute_);

  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // single-threaded
  const CausalConvolution none;
  const auto heads = static_cast<std::size_t>(spec.heads);
  run_parts(compute_, rows_.length.size() * heads, [&](std::size_t part) {
    const std::size_t sequence = part / heads;
    const auto head = static_cast<std::int64_t>(part % heads);
    const MatrixView<float> own = rows_of(sequence, projected);
    const auto tokens = static_cast<std::size_t>(own.rows);
    const std::vector<float> decays(tokens, weights.decays[part % heads]), steps(tokens, 1.0F);
    std::vector<float> kept;
    float* state =
        started_state(states_of(layer, sequence, none), head * size * size, size * size, kept);
    delta_rule({.queries = own.col_block(head * size, size),
                .keys = own.col_block(channels + head * size, size),
                .values = own.col_block(2 * channels + head * size, size),
                .decays = decays,
                .steps = steps,
                .corrects = false},
               {state, size, size, size, 1}, rows_of(sequence, out.col_block(head * size, size)),
               alone);
  });
  apply_norm(weights.norm, out, out, compute_);
  apply(*weights.gate, input, {.activation = Activation::sigmoid, .multiply = out}, out, compute_);
}

}  // namespace attnscope
