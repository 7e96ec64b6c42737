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
  if (!rope) return "the model does not use RoPE";
  const bool lengths_differ = rope->short_factor != rope->long_factor || rope->alpha;
  if (rope->scaling == RopeScaling::dynamic || lengths_differ) {
    return "the RoPE frequencies depend on the text length";
  }
  if (rope->pairs != RotaryPairs::halves || rope->fraction != 1 || rope->dimensions || rope->last) {
    return "RoPE rotates only part of each head or pairs its dimensions differently";
  }
  for (const LayerSpec& layer : spec.layers) {
    if (layer.attention.rope != rope) return "RoPE differs between layers";
    if (layer.attention.query_norm || layer.attention.key_norm) {
      return "queries and keys are normalized";
    }
  }
  return "";
}

}  // namespace attnscope
