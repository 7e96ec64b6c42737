// Mixtures of experts in a layout file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/model/layout/layout_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// One entry of a list of weights.
WeightRule parse_layout_weight(LayoutFields fields);

/// The object `experts` into the architecture of `spec`, whose layers are counted. Says in `config`
/// which layers have them, as a config.json would.
void parse_layout_experts(LayoutFields fields, ModelSpec& spec, nlohmann::json& config);

// The part of a layout file that says which layers do not attend, and what they do instead.

/// Of the object `mixers`. What config.json would say of layers goes to `config`.
void parse_layout_mixers(LayoutFields fields, ModelSpec& spec, nlohmann::json& config);

// Layers that differ in shape, and inputs by layer, in a layout file.

/// The list `layer_shapes` into `spec`, whose dimensions are known.
void parse_layout_shapes(LayoutFields& fields, ModelSpec& spec);

/// The object `layer_input`.
PerLayerInputRule parse_layout_layer_input(LayoutFields fields);

}  // namespace attnscope
