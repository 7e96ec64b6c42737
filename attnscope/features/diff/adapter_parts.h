// The tensors of an adapter file, sorted by how PEFT uses them.
#pragma once

#include <map>
#include <string>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/features/diff/adapter_config.h"

namespace attnscope {

/// The factors of a module: b (outputs, r) times a (r, inputs).
struct AdapterFactors {
  const CheckpointTensor *a = nullptr, *b = nullptr;
  const CheckpointTensor* bias = nullptr;  // bias of b
  bool of_embedding = false;               // embedding: the weight is (inputs, outputs)
};

struct AdapterParts {
  std::map<std::string, AdapterFactors> factors;         // by module
  std::map<std::string, const CheckpointTensor*> whole;  // by the tensor that it replaces
  std::map<std::string, const CheckpointTensor*>
      token_rows;  // rows by the tensor that contains them
};

/// Throws Error(format) with the name of a tensor that is missing, does not belong to an adapter,
/// or belongs to a module that the config does not adapt. Throws Error(unsupported) for other kinds
/// of LoRA.
AdapterParts read_adapter_parts(const Checkpoint& files, const AdapterConfig& config);

}  // namespace attnscope
