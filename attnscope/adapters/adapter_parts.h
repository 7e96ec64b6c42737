// The tensors of an adapter file, sorted by how PEFT uses them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "attnscope/adapters/adapter_config.h"
#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

/// The tensors that change one module, by their part: "lora_A", "hada_w1_a".
using ModuleTensors = std::map<std::string_view, const CheckpointTensor*>;

struct AdapterParts {
  std::map<std::string, ModuleTensors> modules;          // by name in the loaded model
  std::map<std::string, const CheckpointTensor*> whole;  // by the tensor that it replaces
  std::map<std::string, const CheckpointTensor*>
      token_rows;  // rows by the tensor that contains them
  const CheckpointTensor *vera_a = nullptr, *vera_b = nullptr;  // VeRA's shared projections
};

/// Throws Error(format) with the name of a tensor that is missing, does not belong to an adapter,
/// or belongs to a module that the config does not adapt. Throws Error(unsupported) for variants
/// that are not merged.
AdapterParts read_adapter_parts(const Checkpoint& files, const AdapterConfig& config);

}  // namespace attnscope
