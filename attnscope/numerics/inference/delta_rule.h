// The recurrences of Gated DeltaNet, Kimi Delta Attention and Mamba-2, in float32.
#pragma once

#include <span>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Inputs of one head for some tokens. Rows are contiguous.
struct DeltaRuleTokens {
  MatrixView<const float> queries, keys;  // (tokens, d_k)
  MatrixView<const float> values;         // (tokens, d_v)
  std::span<const float> decays, steps;   // one per token
  /// False: S += key ⊗ step value, as in Mamba-2.
  bool corrects = true;
};

/// Updates the state S (d_k, d_v), contiguous, for each token in turn: S = decay S; S += key ⊗ step
/// (value − Sᵀ key). The token's row of out (tokens, d_v) is Sᵀ query. Each column of S, and so
/// each digit of a token's row, depends only on earlier tokens. Reference: transformers,
/// torch_recurrent_gated_delta_rule().
void delta_rule(const DeltaRuleTokens& tokens, MatrixView<float> state, MatrixView<float> out,
                const Compute& compute);

/// Inputs of one head for some tokens, with one decay per row of the state.
struct ChannelDeltaRuleTokens {
  MatrixView<const float> queries, keys, decays;  // (tokens, d_k)
  MatrixView<const float> values;                 // (tokens, d_v)
  std::span<const float> steps;                   // one per token
};

/// The same as delta_rule(), but row k of S is multiplied by decay k. Reference: transformers,
/// recurrent_kimi_delta_attention().
void delta_rule_by_channel(const ChannelDeltaRuleTokens& tokens, MatrixView<float> state,
                           MatrixView<float> out, const Compute& compute);

}  // namespace attnscope
