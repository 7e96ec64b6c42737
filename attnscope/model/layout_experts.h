// Mixtures of experts in a layout file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/model/layout_fields.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// One entry of a list of weights.
WeightRule parse_layout_weight(LayoutFields fields);

/// The object `experts` into the architecture of `spec`, whose layers are counted. Says in `config`
/// which layers have them, as a config.json would.
void parse_layout_experts(LayoutFields fields, ModelSpec& spec, nlohmann::json& config);

}  // namespace attnscope
