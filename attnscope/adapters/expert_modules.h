// Experts and routers in adapters. transformers stacks the experts of a layer in parameters of one
// module, "mlp.experts.gate_up_proj", while files may have a tensor for each expert. PEFT wraps the
// module once per adapted parameter: "experts.base_layer" is the inner one. Source:
// huggingface/peft, tuners/lora/layer.py (ParamWrapper), utils/transformers_weight_conversion.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/adapters/adapter_config.h"
#include "attnscope/adapters/adapter_names.h"
#include "attnscope/adapters/adapter_parts.h"
#include "attnscope/adapters/module_changes.h"

namespace attnscope {

/// A parameter of all experts of a layer.
struct ExpertParameter {
  const Model* model = nullptr;
  std::string name;  // "model.layers.0.mlp.experts.gate_up_proj"
  std::int64_t layer = 0;
  std::vector<Role> roles;  // gate and up, or down
};

/// The parameter that a module of the adapter changes; nothing if it is not a module of experts.
std::optional<ExpertParameter> expert_parameter(const BaseNames& base, const AdapterConfig& config,
                                                const AdapterParts& parts,
                                                const std::string& module);

/// The tensors of the files that contain the parameter.
std::vector<const CheckpointTensor*> tensors_of(const ExpertParameter& parameter);

/// One of these tensors with its change, as it is stored.
MergedMatrixPtr changed_experts(const ExpertParameter& parameter, const CheckpointTensor& tensor,
                                const ModuleChanges& changes, const ModuleTensors& tensors);

/// The router's weight that a module of the adapter changes, under another name than in the files.
/// Null: the module is not a router.
const CheckpointTensor* router_of(const BaseNames& base, const std::string& module);

}  // namespace attnscope
