// Mixtures of experts, layers without attention, and layer shapes in a layout file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/model/layout/layout_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Reads one entry of a list of weights.
WeightRule parse_layout_weight(LayoutFields fields);

/// Reads the object `experts` into the architecture of `spec`, whose number of layers is set.
/// Writes the layers that have experts into `config`, in the form of a config.json.
void parse_layout_experts(LayoutFields fields, ModelSpec& spec, nlohmann::json& config);

// Which layers have no attention, and what they have instead.

/// Reads the object `mixers`. Writes the layer types into `config`, in the form of a config.json.
void parse_layout_mixers(LayoutFields fields, ModelSpec& spec, nlohmann::json& config);

// Layers that differ in shape, and per-layer inputs.

/// Reads the list `layer_shapes` into `spec`, whose dimensions are set.
void parse_layout_shapes(LayoutFields& fields, ModelSpec& spec);

/// Reads the object `layer_input`.
PerLayerInputRule parse_layout_layer_input(LayoutFields fields);

}  // namespace attnscope
