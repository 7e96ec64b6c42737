// A layout file from a description that a config.json was read into.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Sizes and projections: enough for analyses of weights.
nlohmann::ordered_json layout_of_weights(const ModelSpec& spec);

/// The forward pass too. `activation`: the name of the MLP's.
nlohmann::ordered_json layout_of_forward(const ModelSpec& spec, const std::string& activation);

/// Whether both compute the same: norms, attention, MLP, embedding and output head.
bool computes_the_same(const ModelSpec& one, const ModelSpec& other);

}  // namespace attnscope
