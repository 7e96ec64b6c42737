// What config.json says of biases and sinks of scores.
#pragma once

#include <string>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Fills in what `spec` adds to scores, and divides its scale where that demands it; the scale and
/// the mask are known. Returns why they cannot be computed; empty where they can. Throws
/// Error(format) for values of the wrong type or size.
std::string set_score_biases(AttentionSpec& spec, const Architecture& architecture,
                             const ConfigReader& config, const Dimensions& dimensions);

}  // namespace attnscope
