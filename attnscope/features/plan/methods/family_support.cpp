#include "attnscope/features/plan/methods/family_support.h"

#include <algorithm>

namespace attnscope {

bool is_dense_of(const Model& model, std::span<const std::string_view> architectures) {
  const ModelSpec& spec = model.spec();
  return std::ranges::find(architectures, spec.architecture.name) != architectures.end() &&
         spec.dimensions.experts == 0 && !spec.dimensions.mla;
}

std::string why_no_rotary(const ModelSpec& spec) {
  const auto& rope = spec.layers.front().attention.rope;
  if (!rope) return "its positions are not rotary";
  const bool lengths_differ = rope->short_factor != rope->long_factor || rope->alpha;
  if (rope->scaling == RopeScaling::dynamic || lengths_differ) {
    return "its rotation depends on the length of a text";
  }
  if (rope->pairs != RotaryPairs::halves || rope->fraction != 1 || rope->dimensions || rope->last) {
    return "only some of a head's elements turn, or in other pairs";
  }
  for (const LayerSpec& layer : spec.layers) {
    if (layer.attention.rope != rope) return "its layers turn in different ways";
    if (layer.attention.query_norm || layer.attention.key_norm) {
      return "its queries and keys are normed";
    }
  }
  return "";
}

}  // namespace attnscope
