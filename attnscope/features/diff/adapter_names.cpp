#include "attnscope/features/diff/adapter_names.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "attnscope/model/summary.h"
#include "attnscope/model/tensor_roles.h"

namespace attnscope {

std::vector<LinearModule> linear_modules(const Model& base) {
  constexpr std::string_view kWeightEnding = ".weight";
  const std::set<std::string> of_experts = tensors_of_experts(base);
  std::vector<LinearModule> out;
  std::set<std::string> taken;
  for (std::int64_t layer = 0; layer < base.dimensions().layers; ++layer) {
    for (const WeightRule& rule : base.spec().architecture.weights) {
      const CheckpointTensor* own = base.weight(layer, rule.role).tensor;
      if (own == nullptr || own->view.shape.size() != 2) continue;
      if (!own->name.ends_with(kWeightEnding) || of_experts.contains(own->name)) continue;
      if (!taken.insert(own->name).second) continue;
      const std::string module = own->name.substr(0, own->name.size() - kWeightEnding.size());
      out.push_back({.name = loaded_name(base, module),
                     .weight = own,
                     .role = rule.role,
                     .transposed = rule.storage == Storage::in_by_out && !own->is_linear});
    }
  }
  return out;
}

std::string loaded_name(const Model& model, const std::string& name) {
  const std::string& usual = model.spec().architecture.prefixes.front();
  if (!model.spec().causal || usual == model.prefix()) return name;
  const auto& heads = model.spec().head.rule.weight;
  if (std::find(heads.begin(), heads.end(), name) != heads.end()) return name;
  return usual + name.substr(model.prefix().size());
}

const CheckpointTensor* tensor_in_base(const Model& base, const std::string& name) {
  const Checkpoint& checkpoint = base.checkpoint();
  if (const CheckpointTensor* tensor = checkpoint.find(name)) return tensor;
  for (const std::string& prefix : base.spec().architecture.prefixes) {
    if (const CheckpointTensor* tensor = checkpoint.find(prefix + name)) return tensor;
    if (!prefix.empty() && name.starts_with(prefix)) {
      if (const auto* tensor = checkpoint.find(name.substr(prefix.size()))) return tensor;
    }
  }
  return nullptr;
}

const CheckpointTensor* counterpart(const Model& model, const std::string& name,
                                    const Model& other) {
  if (const CheckpointTensor* tensor = other.checkpoint().find(name)) return tensor;
  if (!name.starts_with(model.prefix())) return nullptr;
  return other.checkpoint().find(other.prefix() + name.substr(model.prefix().size()));
}

std::set<std::string> tensors_of_experts(const Model& model) {
  std::set<std::string> out;
  if (model.dimensions().experts == 0) return out;
  for (const TensorSummary& tensor : take_inventory(model, {}).tensors) {
    const bool routes = tensor.role == role_name(Role::router);
    if (routes || tensor.role.starts_with(kOfExpert)) out.insert(tensor.name);
  }
  return out;
}

}  // namespace attnscope
