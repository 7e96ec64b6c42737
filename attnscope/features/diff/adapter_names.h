// Names of the base's tensors in adapters: those of the loaded model. They may have one part more
// or fewer than the names in the files.
#pragma once

#include <set>
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

}  // namespace attnscope
