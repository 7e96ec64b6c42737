// Writes a layout file from a description that was read from a config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Sizes and projections: enough for weight analyses.
nlohmann::ordered_json layout_of_weights(const ModelSpec& spec);

/// Also writes the forward pass. `activation`: the name of the MLP's activation.
nlohmann::ordered_json layout_of_forward(const ModelSpec& spec, const std::string& activation);

/// Whether both compute the same: norms, attention, MLP, embedding and LM head.
bool computes_the_same(const ModelSpec& one, const ModelSpec& other);

}  // namespace attnscope
