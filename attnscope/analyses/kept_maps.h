// The attention maps of a model on text, layer by layer, for files that keep them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"
#include "attnscope/run/context.h"

namespace attnscope {

struct KeptMapsRequest {
  std::span<const TokenIds> sequences;  // all of one length T
  std::vector<std::int64_t> layers;     // ascending
  bool mean = false;                    // over all sequences; else of the first one
};

/// Calls take() for each layer in turn with its maps (H, T, T). Of the first sequence nothing
/// larger is held; a mean needs the sums of all layers, in float64, added up in the order of the
/// sequences. Throws Error(usage) where those exceed the memory budget, and as ForwardPass does.
void keep_maps(const Model& model, const KeptMapsRequest& request, const Context& context,
               const std::function<void(std::span<const float>)>& take);

}  // namespace attnscope
