// From token ids to what enters layer 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// The most tokens of a text: as many as learned positions reach; without them there is no limit.
std::int64_t longest_text(const ModelSpec& spec, const ForwardWeights& weights);

/// (rows, D). The ids and lengths have been checked.
Matrix<float> embed(const ModelSpec& spec, const ForwardWeights& weights,
                    std::span<const TokenIds> sequences, const SequenceRows& rows,
                    const Compute& compute);

/// See ForwardPass.
std::vector<float> mean_position_embedding(const ForwardWeights& weights);
Matrix<float> embed_alone(const ModelSpec& spec, const ForwardWeights& weights, const TokenIds& ids,
                          std::span<const float> place, const Compute& compute);

}  // namespace attnscope
