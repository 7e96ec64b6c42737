#include "attnscope/adapters/adapter_names.h"

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
                     .transposed = rule.storage == Storage::in_by_out && !own->is_linear,
                     .is_conv1d = rule.storage == Storage::in_by_out});
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
  const std::vector<std::string>& prefixes = base.spec().architecture.prefixes;
  for (const std::string& own : prefixes) {
    if (const CheckpointTensor* tensor = checkpoint.find(own + name)) return tensor;
    if (own.empty() || !name.starts_with(own)) continue;
    const std::string rest = name.substr(own.size());
    if (const CheckpointTensor* tensor = checkpoint.find(rest)) return tensor;
    for (const std::string& other : prefixes) {
      if (const CheckpointTensor* tensor = checkpoint.find(other + rest)) return tensor;
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

BaseNames::BaseNames(std::span<const Model> stacks) : stacks_(stacks), with_head_(&stacks.front()) {
  std::set<const CheckpointTensor*> taken;
  for (const Model& stack : stacks) {
    if (heads().empty() && !stack.spec().head.rule.weight.empty()) with_head_ = &stack;
    for (LinearModule& module : linear_modules(stack)) {
      if (taken.insert(module.weight).second) linear_.push_back(std::move(module));
    }
  }
}

const CheckpointTensor* BaseNames::tensor(const std::string& name) const {
  for (const Model& stack : stacks_) {
    if (const CheckpointTensor* found = tensor_in_base(stack, name)) return found;
  }
  return nullptr;
}

const CheckpointTensor* BaseNames::own_tensor(const std::string& name) const {
  const CheckpointTensor* own = tensor(name);
  return own == nullptr && tied() && is_head(name) ? embedding() : own;
}

const LinearModule* BaseNames::linear(const CheckpointTensor& tensor) const {
  const auto found = std::find_if(linear_.begin(), linear_.end(), [&](const LinearModule& module) {
    return module.weight == &tensor;
  });
  return found == linear_.end() ? nullptr : &*found;
}

bool BaseNames::is_head(const std::string& name) const {
  return std::find(heads().begin(), heads().end(), name) != heads().end();
}

const CheckpointTensor* BaseNames::embedding() const {
  return checkpoint().find(with_head_->prefix() + with_head_->spec().stream.embedding.tokens);
}

}  // namespace attnscope
