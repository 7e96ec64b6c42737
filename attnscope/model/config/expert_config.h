// From config.json and the rule of an architecture to the experts of each layer.
#pragma once

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// The largest accepted number of experts of a layer.
inline constexpr std::int64_t kMaxExperts = 65'536;

/// Fills in how many experts there are, how wide they are, and which layers have them, where the
/// architecture has any. Throws Error(format) for numbers that contradict each other or are over a
/// limit. `spec.dimensions` has its other numbers.
void read_expert_dimensions(ModelSpec& spec, const ConfigReader& config);

/// How layers choose and weigh them, after read_expert_dimensions() found some. Throws likewise.
ExpertSpec read_experts(const ModelSpec& spec, const ConfigReader& config);

}  // namespace attnscope
