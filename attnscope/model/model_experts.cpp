// Where the matrices of each expert are.
#include <algorithm>
#include <string>
#include <utility>

#include "attnscope/model/expert_rule.h"
#include "attnscope/model/model.h"

namespace attnscope {
namespace {

constexpr std::string_view kExpertNumber = "{expert}";

bool is_one_each(const WeightRule& rule) {
  return rule.tensor.find(kExpertNumber) != std::string::npos;
}

const WeightRule* rule_of(const ExpertTensors& tensors, Role role) {
  for (const WeightRule& rule : tensors.weights) {
    if (rule.role == role) return &rule;
  }
  return nullptr;
}

std::string with_expert(std::string pattern, std::int64_t expert) {
  const std::size_t at = pattern.find(kExpertNumber);
  return at == std::string::npos
             ? pattern
             : pattern.replace(at, kExpertNumber.size(), std::to_string(expert));
}

}  // namespace

const ExpertTensors* Model::choose_expert_tensors() const {
  if (dimensions().experts == 0) return nullptr;
  const std::vector<ExpertTensors>& all = spec_.architecture.experts->tensors;
  for (std::int64_t layer = 0; layer < dimensions().layers; ++layer) {
    if (!spec_.has_experts(layer)) continue;
    for (const ExpertTensors& tensors : all) {
      const bool fits =
          std::any_of(tensors.weights.begin(), tensors.weights.end(), [&](const WeightRule& rule) {
            const std::string pattern = prefix_ + with_expert(rule.tensor, /*expert=*/0);
            return checkpoint_->find(fill_pattern(pattern, {.layer = layer})) != nullptr;
          });
      if (fits) return &tensors;
    }
  }
  return &all.front();  // the missing tensor is then named as usual
}

bool Model::describes_of_expert(Role role) const {
  return expert_tensors_ != nullptr && rule_of(*expert_tensors_, role) != nullptr;
}

Weight Model::expert_weight(std::int64_t layer, std::int64_t expert, Role role) const {
  const WeightRule* found = expert_tensors_ == nullptr ? nullptr : rule_of(*expert_tensors_, role);
  if (found == nullptr || !spec_.has_experts(layer)) {
    return {.missing = "layer " + std::to_string(layer) + " has no experts with a '" +
                       std::string(role_name(role)) + "'"};
  }
  WeightRule rule = *found;
  const Dimensions sizes = of_expert(dimensions());
  if (is_one_each(rule)) {
    rule.tensor = with_expert(rule.tensor, expert);
    return locate(rule, layer, sizes);
  }
  rule.index = expert;
  if (expert_tensors_->either_way) {
    const std::string name = prefix_ + fill_pattern(rule.tensor, {.layer = layer});
    const CheckpointTensor* tensor = checkpoint_->find(name);
    const auto inputs = canonical_shape(sizes, role).second;
    const bool is_stacked = tensor != nullptr && tensor->view.shape.size() == 3;
    const std::size_t usual = rule.storage == Storage::out_by_in ? 2 : 1;
    if (is_stacked && tensor->view.shape[usual] != inputs) {
      rule.storage = rule.storage == Storage::out_by_in ? Storage::in_by_out : Storage::out_by_in;
    }
  }
  return locate(rule, layer, sizes);
}

}  // namespace attnscope
