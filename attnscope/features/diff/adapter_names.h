// How adapters name the tensors of their base: as the loaded model does, whose names may have one
// part more than those of the files, or one fewer.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope {

/// A linear layer of the base that LoRA can adapt: no expert and no router.
struct LinearModule {
  std::string name;  // in the loaded model, without ".weight"
  const CheckpointTensor* weight = nullptr;
  Role role = Role::query;  // the first that it holds
  bool transposed = false;  // files hold (inputs, outputs)
};

/// Those of all layers, each once.
std::vector<LinearModule> linear_modules(const Model& base);

/// The name in the loaded model of a tensor of the files.
std::string loaded_name(const Model& model, const std::string& name);

/// The base's tensor of that name in the loaded model; null if there is none.
const CheckpointTensor* tensor_in_base(const Model& base, const std::string& name);

/// The tensor of `other` that a tensor of the model is compared with: that of the same name, apart
/// from what the files put before all names. Null if there is none.
const CheckpointTensor* counterpart(const Model& model, const std::string& name,
                                    const Model& other);

/// Experts, stacked or apart, and routers: transformers holds them in other shapes than the files.
std::set<std::string> tensors_of_experts(const Model& model);

}  // namespace attnscope
