// Pooled heads: label logits, or embeddings of CLIP-like models, from a whole sequence.
#pragma once

#include <optional>

#include "attnscope/forward/weights/tensor_reader.h"

namespace attnscope {

/// Reads the pooled head. Empty if the files have none. Throws like TensorReader.
std::optional<PooledHead> read_pooled_head(const TensorReader& reader);

}  // namespace attnscope
