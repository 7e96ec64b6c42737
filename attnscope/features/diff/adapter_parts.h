// The tensors of an adapter's file, sorted by what PEFT does with them.
#pragma once

#include <map>
#include <string>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/features/diff/adapter_config.h"

namespace attnscope {

/// The factors of one module: b (outputs, r) times a (r, inputs).
struct AdapterFactors {
  const CheckpointTensor *a = nullptr, *b = nullptr;
  const CheckpointTensor* bias = nullptr;  // of b
  bool of_embedding = false;               // the weight is (inputs, outputs)
};

struct AdapterParts {
  std::map<std::string, AdapterFactors> factors;              // by module
  std::map<std::string, const CheckpointTensor*> whole;       // by the tensor that each replaces
  std::map<std::string, const CheckpointTensor*> token_rows;  // by the tensor whose rows they are
};

/// Throws Error(format) that names the tensor if one is missing, is not of an adapter, or belongs
/// to a module that the config does not adapt; Error(unsupported) for those of other kinds of LoRA.
AdapterParts read_adapter_parts(const Checkpoint& files, const AdapterConfig& config);

}  // namespace attnscope
