#include "attnscope/features/common/calibration/text_statistics.h"

namespace attnscope {

const Model* stack_of_same_width(const Model& model) {
  const Model* other = model.sibling(model.stack() == "encoder" ? "decoder" : "encoder");
  const auto key_of = [](const Model& stack) {
    return stack.spec().architecture.keys.mlp_width.name;
  };
  return other != nullptr && key_of(*other) == key_of(model) ? other : nullptr;
}

std::vector<Role> stored_projections(const Model& model, std::int64_t layer) {
  std::vector<Role> roles;
  for (const WeightRule& rule : model.spec().architecture.weights) {
    if (rule.index || !is_projection(rule.role) || is_beside_experts(rule.role)) continue;
    const Weight& weight = model.weight(layer, rule.role);
    if (weight.tensor != nullptr) roles.push_back(rule.role);
  }
  return roles;
}

}  // namespace attnscope
