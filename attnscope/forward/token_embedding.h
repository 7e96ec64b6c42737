// Token embedding: from token ids to the input of layer 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Returns the maximum number of tokens of a text: the number of learned positions, or no limit
/// without them.
std::int64_t longest_text(const ModelSpec& spec, const ForwardWeights& weights);

/// Returns the embeddings (rows, D). Requires checked ids and lengths.
Matrix<float> embed(const ModelSpec& spec, const ForwardWeights& weights,
                    std::span<const TokenIds> sequences, const SequenceRows& rows,
                    const Compute& compute);

/// See ForwardPass.
std::vector<float> mean_position_embedding(const ForwardWeights& weights);
Matrix<float> embed_alone(const ModelSpec& spec, const ForwardWeights& weights, const TokenIds& ids,
                          std::span<const float> place, const Compute& compute);

}  // namespace attnscope
