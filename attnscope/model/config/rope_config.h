// Reads the rotary positions of each layer from config.json.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"
#include "attnscope/model/rope.h"

namespace attnscope {

/// For each layer, whether the file's list or interval gives it RoPE: see RotatedLayers::listed.
std::vector<bool> listed_rotation(const RopeRule& rule, const ConfigReader& config,
                                  std::size_t layers);

/// Returns the rope_parameters of config.json, or the architecture's default if the file has none.
/// Not for files with one object per layer type. `standard` stores the default and must outlive the
/// result.
ConfigReader rope_parameters(const Architecture& architecture, const ConfigReader& config,
                             nlohmann::json& standard);

/// Returns the rotation of queries and keys of each layer; none for layers without RoPE.
/// `windowed`: see windowed_layers(). Source: transformers, modeling_rope_utils.py, and
/// Gemma3TextConfig for two layer types.
std::vector<std::optional<Rope>> read_ropes(const Architecture& architecture,
                                            const ConfigReader& config,
                                            const std::vector<bool>& windowed,
                                            const Dimensions& dimensions);

}  // namespace attnscope
