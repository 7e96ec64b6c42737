// From maps that a program gives to what they say.
#pragma once

#include <vector>

#include "attnscope/analyses/given_maps.h"
#include "attnscope/analysis/attention_map.h"
#include "attnscope/results/outcome.h"

namespace attnscope {

/// An attention_outcome() for each run of sequences of one length, in their order, with whether the
/// layer is `causal`. `options`: energy and without_first. The null that stands beside the measures
/// is of even attention over the keys that some head looked at. Throws as head_maps() does.
std::vector<Outcome> measure_given(const GivenMaps& given, AttentionMapOptions options,
                                   const Compute& compute);

}  // namespace attnscope
