// Folders that hold something else than weights which attnscope reads.
#pragma once

#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

/// Throws Error(unsupported) that names what a folder without readable weights holds, and the next
/// step. Knows pipelines of diffusers, checkpoints of a training run, distributed checkpoints of
/// PyTorch, ranks of Megatron, and TensorFlow checkpoints. Returns for other folders.
void refuse_other_contents(const CheckpointFolder& folder);

}  // namespace attnscope
