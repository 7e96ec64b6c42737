// What a model says when layers are skipped, as it says without them: many such models are measured
// in one pass, which they share up to the first layer that is skipped.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Of each of `candidates` the mean negative log-likelihood, in nats, of the windows' tokens but
/// the first, without the layers that are `gone` and without that one, which is none of them. Of
/// passes that may_start_between(). Throws as ForwardPass does.
std::vector<double> mean_nll_without(const ForwardPass& pass, std::span<const TokenIds> windows,
                                     const std::set<std::int64_t>& gone,
                                     std::span<const std::int64_t> candidates,
                                     const Compute& compute);

}  // namespace attnscope
