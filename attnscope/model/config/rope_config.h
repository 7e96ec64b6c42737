// From config.json to the rotary positions of each layer.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"
#include "attnscope/model/rope.h"

namespace attnscope {

/// For each layer, whether the file's list or interval lets it rotate: see RotatedLayers::listed.
std::vector<bool> listed_rotation(const RopeRule& rule, const ConfigReader& config,
                                  std::size_t layers);

/// The rope_parameters of config.json, or the architecture's own if the file has none. Not for
/// files that have one for each kind of layer. `standard` stores the architecture's and must
/// outlive the result.
ConfigReader rope_parameters(const Architecture& architecture, const ConfigReader& config,
                             nlohmann::json& standard);

/// How each layer rotates queries and keys; none if it does not. `windowed`: see windowed_layers().
/// Source: transformers, modeling_rope_utils.py, and Gemma3TextConfig for two kinds of layers.
std::vector<std::optional<Rope>> read_ropes(const Architecture& architecture,
                                            const ConfigReader& config,
                                            const std::vector<bool>& windowed,
                                            const Dimensions& dimensions);

}  // namespace attnscope
