// Reads the experts of each layer from config.json and the architecture's rules.
#pragma once

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// The largest accepted number of experts per layer.
inline constexpr std::int64_t kMaxExperts = 65'536;

/// Sets the number and sizes of experts, and the layers that have them, if the architecture has
/// any. `spec.dimensions` must have the other sizes. Throws Error(format) for numbers that
/// contradict each other or exceed a limit.
void read_expert_dimensions(ModelSpec& spec, const ConfigReader& config);

/// Returns how layers select and weight experts, after read_expert_dimensions() found some. Throws
/// the same errors.
ExpertSpec read_experts(const ModelSpec& spec, const ConfigReader& config);

}  // namespace attnscope
