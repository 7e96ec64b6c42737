// Reads biases and sinks of attention scores from config.json.
#pragma once

#include <string>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Sets the terms that `spec` adds to scores, and adapts its scale if they require it. The scale
/// and the mask must be set. Returns why the terms are not supported; empty if they are. Throws
/// Error(format) for values of the wrong type or size.
std::string set_score_biases(AttentionSpec& spec, const Architecture& architecture,
                             const ConfigReader& config, const Dimensions& dimensions);

}  // namespace attnscope
