// Folders that hold no model but changes to one.
#pragma once

#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

/// Throws Error(unsupported) that names the base model where the folder holds a LoRA adapter, which
/// its adapter_config.json shows.
void refuse_adapter(const CheckpointFolder& folder);

}  // namespace attnscope
