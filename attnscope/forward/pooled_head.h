// What a model makes of a whole sequence: labels' logits, or what towers compare.
#pragma once

#include <optional>

#include "attnscope/forward/weights/tensor_reader.h"

namespace attnscope {

/// None where the files hold no such head. Throws as TensorReader does.
std::optional<PooledHead> read_pooled_head(const TensorReader& reader);

}  // namespace attnscope
