// Folders that hold something else than weights which attnscope reads.
#pragma once

#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

/// Throws Error(unsupported) that names what a folder without readable weights holds, and the next
/// step: a pipeline of diffusers, checkpoints of a training run, a distributed checkpoint of
/// PyTorch, ranks of Megatron, or a TensorFlow checkpoint. Returns if it is none of them.
void refuse_other_contents(const CheckpointFolder& folder);

}  // namespace attnscope
