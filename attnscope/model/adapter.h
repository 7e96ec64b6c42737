// Folders with an adapter instead of a model.
#pragma once

#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

/// Throws Error(unsupported) that names the base model if the folder holds a LoRA adapter (an
/// adapter_config.json).
void refuse_adapter(const CheckpointFolder& folder);

}  // namespace attnscope
