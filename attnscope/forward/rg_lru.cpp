// RG-LRU; see model/expert_and_mixer_rules.h. Source: transformers, modeling_recurrent_gemma.py.
#include <algorithm>
#include <cmath>
#include <vector>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/mixers.h"

namespace attnscope {
namespace {

/// Replaces each row of `input` by the state after it. `state`: before and after the rows, one
/// number per channel. `begins`: the first row is the start of a text.
void recur(MatrixView<float> input, MatrixView<const float> input_gates,
           MatrixView<const float> recurrence_gates, const float* rates, bool begins,
           float* state) {
  for (std::int64_t token = 0; token < input.rows; ++token) {
    const bool first = begins && token == 0;  // there is no state to make room for
    for (std::int64_t col = 0; col < input.cols; ++col) {
      const float exponent = -recurrence_gates(token, col) * rates[col];
      const float scale = first ? 1 : std::sqrt(1 - std::exp(2 * exponent));
      state[col] =
          std::exp(exponent) * state[col] + input(token, col) * input_gates(token, col) * scale;
      input(token, col) = state[col];
    }
  }
}

}  // namespace

void MixerRun::run_rg_lru(std::int64_t layer, const RgLruWeights& weights,
                          MatrixView<const float> input, MatrixView<float> out) {
  const RgLruSpec& spec = weights.spec;
  const std::int64_t rows = rows_.total, of_block = spec.block_width();
  const MatrixView<float> projected = sized(projected_, rows, spec.width);
  const MatrixView<float> convolved = sized(convolved_, rows, spec.width);
  const MatrixView<float> gates = sized(gates_, rows, 2 * spec.width);
  apply(*weights.input, input, {}, projected, compute_);
  convolve_all(layer, weights.convolution, projected, convolved);
  for (std::int64_t block = 0; block < spec.blocks; ++block) {
    apply(*weights.gates[static_cast<std::size_t>(block)],
          convolved.col_block(block * of_block, of_block), {.activation = Activation::sigmoid},
          gates.col_block(2 * block * of_block, 2 * of_block), compute_);
  }

  const auto blocks = static_cast<std::size_t>(spec.blocks);
  run_parts(compute_, rows_.length.size() * blocks, [&](std::size_t part) {
    const std::size_t sequence = part / blocks;
    const std::int64_t first = static_cast<std::int64_t>(part % blocks) * of_block;
    const States states = states_of(layer, sequence, weights.convolution);
    std::vector<float> own;
    float* state = started_state(states, first, of_block, own);
    const MatrixView<float> own_gates = rows_of(sequence, gates);
    recur(rows_of(sequence, convolved.col_block(first, of_block)),
          own_gates.col_block(2 * first, of_block),
          own_gates.col_block(2 * first + of_block, of_block), weights.rates.data() + first,
          /*begins=*/rows_.first_position(sequence) == 0, state);
  });
  apply(*weights.gate, input, {.activation = spec.activation, .multiply = convolved}, out,
        compute_);
}

}  // namespace attnscope
