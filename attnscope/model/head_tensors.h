// Projections that store one tensor per head.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Placeholder for the head number in a tensor name.
inline constexpr std::string_view kHeadMark = "{head}";

/// Returns the name with the placeholder replaced by the head's number.
std::string name_of_head(const std::string& name, std::int64_t head);

/// Replaces the tensors of a projection's heads by one tensor, whose name keeps the placeholder.
/// Layers that lack the tensor of a head keep their tensors as they are. Throws Error(format) for
/// inconsistent shapes and for more heads than `spec` specifies. Throws Error(unsupported) for
/// float64.
std::vector<CheckpointTensor> with_heads_joined(const Checkpoint& checkpoint,
                                                const ModelSpec& spec);

/// Whether any projection has one tensor per head.
bool has_head_tensors(const Architecture& architecture);

}  // namespace attnscope
