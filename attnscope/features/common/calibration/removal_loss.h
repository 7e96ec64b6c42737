// What a model says when layers are skipped, as it says without them, or a part of one: many such
// models are measured in one pass, which they share up to the first layer that differs.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Of each of `candidates` mean_nll() of a text without mask and sources, without the layers that
/// are `gone` and without that one, which is none of them. Of passes that may_start_between().
/// Throws as ForwardPass does.
std::vector<double> mean_nll_without(const ForwardPass& pass, const TextWindows& text,
                                     const std::set<std::int64_t>& gone,
                                     std::span<const std::int64_t> candidates,
                                     const Compute& compute);

/// The same of a layer's attention and of its MLP, each left out alone with its bias: nothing is
/// added to the stream in its place. NaN where the layer has none.
struct NllWithoutPart {
  double attention = 0, mlp = 0;
};
std::vector<NllWithoutPart> mean_nll_without_parts(const ForwardPass& pass, const TextWindows& text,
                                                   const Compute& compute);

}  // namespace attnscope
