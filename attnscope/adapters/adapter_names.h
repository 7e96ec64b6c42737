// Names of the base's tensors in adapters: those of the loaded model. They may have one part more
// or fewer than the names in the files.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope {

/// A linear layer of the base that LoRA can adapt; no experts or routers.
struct LinearModule {
  std::string name;  // in the loaded model, without ".weight"
  const CheckpointTensor* weight = nullptr;
  Role role = Role::query;  // role of its first matrix
  bool transposed = false;  // files contain (inputs, outputs)
  bool is_conv1d = false;   // transformers stores (inputs, outputs)
};

/// The linear layers of all layers, without duplicates.
std::vector<LinearModule> linear_modules(const Model& base);

/// The name of a file's tensor in the loaded model.
std::string loaded_name(const Model& model, const std::string& name);

/// The base's tensor with this name in the loaded model; null if there is none.
const CheckpointTensor* tensor_in_base(const Model& base, const std::string& name);

/// The tensor of `other` to compare with a tensor of the model: the one with the same name,
/// ignoring the prefix of all names in the files. Null if there is none.
const CheckpointTensor* counterpart(const Model& model, const std::string& name,
                                    const Model& other);

/// Tensors of experts, stacked or separate, and of routers: transformers uses other shapes than the
/// files.
std::set<std::string> tensors_of_experts(const Model& model);

/// Finds the tensors of a base, in any of its stacks, by their names in the loaded model.
class BaseNames {
 public:
  /// The stacks must outlive it.
  explicit BaseNames(std::span<const Model> stacks);

  std::span<const Model> stacks() const { return stacks_; }
  const Checkpoint& checkpoint() const { return stacks_.front().checkpoint(); }

  const CheckpointTensor* tensor(const std::string& name) const;
  /// The same; for a tied LM head the embedding, because PEFT treats them as one.
  const CheckpointTensor* own_tensor(const std::string& name) const;
  /// Null if the tensor is not a linear layer that LoRA can adapt.
  const LinearModule* linear(const CheckpointTensor& tensor) const;
  const std::vector<LinearModule>& linear() const { return linear_; }

  /// Possible names of the LM head; empty if there is none.
  const std::vector<std::string>& heads() const { return with_head_->spec().head.rule.weight; }
  bool is_head(const std::string& name) const;
  bool tied() const { return with_head_->spec().tied; }
  const CheckpointTensor* embedding() const;

 private:
  std::span<const Model> stacks_;
  const Model* with_head_;
  std::vector<LinearModule> linear_;
};

}  // namespace attnscope
