// Losses of a model with layers, or parts of a layer, removed. Many such models are measured in one
// pass, which shares all computation before the first removed layer.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Returns for each candidate layer mean_nll() of a text, without mask and sources, with the layers
/// in `gone` and that layer removed. No candidate may be in `gone`. Requires may_start_between() of
/// the pass. Throws the errors of ForwardPass.
std::vector<double> mean_nll_without(const ForwardPass& pass, const TextWindows& text,
                                     const std::set<std::int64_t>& gone,
                                     std::span<const std::int64_t> candidates,
                                     const Compute& compute);

/// The same for the attention and the MLP of a layer, each removed separately with its bias: its
/// output is replaced by zero. NaN if the layer has none. A mixer is removed with the attention
/// that it replaces or accompanies.
struct NllWithoutPart {
  double attention = 0, mlp = 0;
};
std::vector<NllWithoutPart> mean_nll_without_parts(const ForwardPass& pass, const TextWindows& text,
                                                   const Compute& compute);

}  // namespace attnscope
