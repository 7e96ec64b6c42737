// What a forward pass reads of a checkpoint to make rows of images.
#pragma once

#include "attnscope/forward/tensor_reader.h"

namespace attnscope {

/// Throws as TensorReader does.
PatchWeights read_patch_weights(const TensorReader& reader, const PatchSpec& spec);

}  // namespace attnscope
