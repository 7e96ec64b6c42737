#include "attnscope/numerics/inference/delta_rule.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/inference/kernels/kernels.h"

namespace attnscope {
namespace {

/// Fallback for CPUs without kernels.
void apply_plainly(const DeltaRuleTokens& tokens, MatrixView<float> state, MatrixView<float> out) {
  const std::int64_t depth = state.rows, columns = state.cols;
  std::vector<float> change(static_cast<std::size_t>(columns));
  for (std::int64_t token = 0; token < out.rows; ++token) {
    const auto at = static_cast<std::size_t>(token);
    const float decay = tokens.decays[at];
    for (std::int64_t col = 0; col < columns; ++col) {
      float known = 0;
      for (std::int64_t k = 0; tokens.corrects && k < depth; ++k) {
        known += state(k, col) * tokens.keys(token, k);
      }
      change[static_cast<std::size_t>(col)] =
          tokens.steps[at] * (tokens.values(token, col) - decay * known);
      out(token, col) = 0;
    }
    for (std::int64_t k = 0; k < depth; ++k) {
      const float key = tokens.keys(token, k), query = tokens.queries(token, k);
      for (std::int64_t col = 0; col < columns; ++col) {
        float& value = state(k, col);
        value = decay * value + key * change[static_cast<std::size_t>(col)];
        out(token, col) += value * query;
      }
    }
  }
}

}  // namespace

void delta_rule(const DeltaRuleTokens& tokens, MatrixView<float> state, MatrixView<float> out,
                const Compute& compute) {
  compute.check_stop();
  if (!compute.kernels.available()) return apply_plainly(tokens, state, out);
  AlignedBuffer<float> memory;
  const auto count = static_cast<std::size_t>((state.rows + 1) * kernels::kDeltaRuleColumns);
  kernels::apply_delta_rule(compute.kernels, {.queries = tokens.queries,
                                              .keys = tokens.keys,
                                              .values = tokens.values,
                                              .decays = tokens.decays.data(),
                                              .steps = tokens.steps.data(),
                                              .corrects = tokens.corrects,
                                              .state = state,
                                              .out = out,
                                              .scratch = memory.reserve(count)});
}

void delta_rule_by_channel(const ChannelDeltaRuleTokens& tokens, MatrixView<float> state,
                           MatrixView<float> out, const Compute& compute) {
  const std::int64_t depth = state.rows, columns = state.cols;
  std::vector<float> known(static_cast<std::size_t>(columns));
  float* change = known.data();
  for (std::int64_t token = 0; token < out.rows; ++token) {
    compute.check_stop();
    std::fill_n(change, columns, 0.0F);
    for (std::int64_t k = 0; k < depth; ++k) {
      const float key = tokens.keys(token, k), decay = tokens.decays(token, k);
      float* row = &state(k, 0);
      for (std::int64_t col = 0; col < columns; ++col) {
        row[col] *= decay;
        change[col] += row[col] * key;
      }
    }
    const float step = tokens.steps[static_cast<std::size_t>(token)];
    const float* wanted = &tokens.values(token, 0);
    float* to = &out(token, 0);
    for (std::int64_t col = 0; col < columns; ++col) {
      change[col] = step * (wanted[col] - change[col]);
      to[col] = 0;
    }
    for (std::int64_t k = 0; k < depth; ++k) {
      const float key = tokens.keys(token, k), query = tokens.queries(token, k);
      float* row = &state(k, 0);
      for (std::int64_t col = 0; col < columns; ++col) {
        row[col] += key * change[col];
        to[col] += row[col] * query;
      }
    }
  }
}

}  // namespace attnscope
