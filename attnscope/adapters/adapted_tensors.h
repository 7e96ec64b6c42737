// The tensors of a base with an adapter, as PEFT's merge_and_unload() leaves them. Nothing is
// computed before a tensor is read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnscope/adapters/adapter_config.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/model.h"

namespace attnscope {

struct AdaptedTensors {
  /// All tensors, in the order of the base. Tensors of the adapter count its files after those of
  /// the base. The views refer to the files of both.
  std::vector<CheckpointTensor> tensors;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory;  // bytes of other views
  bool unties_head = false;  // only the LM head or only the embedding changed, so they differ
};

/// `stacks`: all stacks of the base. Throws Error(format) for an incomplete adapter or an adapter
/// of another model. Throws Error(unsupported) with the name of a variant that is not supported.
AdaptedTensors adapted_tensors(std::span<const Model> stacks, const Checkpoint& files,
                               const AdapterConfig& config);

}  // namespace attnscope
