#include "attnscope/model/expert_facts.h"

#include <algorithm>

namespace attnscope {

ExpertFacts expert_facts(const Model& model, std::int64_t parameters, std::int64_t of_experts) {
  const ModelSpec& spec = model.spec();
  const Dimensions& dimensions = spec.dimensions;
  ExpertFacts facts{
      .count = dimensions.experts,
      .layers = std::count(spec.expert_layers.begin(), spec.expert_layers.end(), true),
      .width = dimensions.expert_width,
      .shared_width = dimensions.shared_width};
  for (const LayerSpec& layer : spec.layers) {
    if (layer.experts) facts.chosen = layer.experts->chosen;
  }
  const std::int64_t chosen = facts.chosen.value_or(facts.count);
  // Each expert has as many as any other.
  facts.active_parameters = parameters - of_experts / facts.count * (facts.count - chosen);
  return facts;
}

}  // namespace attnscope
