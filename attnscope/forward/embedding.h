// From token ids to what enters layer 0.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// The most tokens of a text: as many as learned positions reach; without them there is no limit.
std::int64_t longest_text(const ModelSpec& spec, const ForwardWeights& weights);

/// (rows, D). The ids and lengths have been checked.
Matrix<float> embed(const ModelSpec& spec, const ForwardWeights& weights,
                    std::span<const TokenIds> sequences, const SequenceRows& rows,
                    const Compute& compute);

/// What enters layer 0 of each token by itself: see ForwardPass::embed_alone().
Matrix<float> embed_alone(const ModelSpec& spec, const ForwardWeights& weights, const TokenIds& ids,
                          bool positions, const Compute& compute);

}  // namespace attnscope
