// Projections of which each head has a tensor of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Stands for the number of a head in a tensor's name.
inline constexpr std::string_view kHeadMark = "{head}";

/// The name with the mark replaced by the head's number.
std::string name_of_head(const std::string& name, std::int64_t head);

/// The checkpoint's tensors, in which one tensor takes the place of those of a projection's heads.
/// Its name keeps the mark. Layers that lack the tensor of a head keep their tensors as they are.
/// Throws Error(format) for shapes that differ and for more heads than `spec` says,
/// Error(unsupported) for float64.
std::vector<CheckpointTensor> with_heads_joined(const Checkpoint& checkpoint,
                                                const ModelSpec& spec);

/// Whether any projection has a tensor for each head.
bool has_head_tensors(const Architecture& architecture);

}  // namespace attnscope
