// From config.json and the description of an architecture to the forward pass, layer by layer.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Fills in layers, stream, head and not_run of a spec whose architecture and dimensions are known.
/// Throws Error(format) for values of the wrong type or size. Unknown values, such as the name of
/// an activation, go to `not_run`, because the weights can still be analysed.
void resolve_layers(ModelSpec& spec, const ConfigReader& config);

/// For each layer, whether it is of the kind that has a window, whether the model has windows or
/// not.
std::vector<bool> windowed_layers(const Architecture& architecture, const ConfigReader& config,
                                  std::int64_t layers);

/// For each layer, whether the file's list or interval lets it rotate: see RotatedLayers::listed.
std::vector<bool> listed_rotation(const RopeRule& rule, const ConfigReader& config,
                                  std::size_t layers);

/// Whether no token sees a later one.
bool reads_one_way(const Architecture& architecture, const ConfigReader& config);

/// Which keys the queries of each layer see. `windowed`: see windowed_layers().
std::vector<MaskSpec> read_masks(const Architecture& architecture, const ConfigReader& config,
                                 const std::vector<bool>& windowed);

/// Why the mask is unknown; empty if it is known.
std::string unknown_mask(const Architecture& architecture, const ConfigReader& config);

/// What config.json says of scaled rotation, or what the architecture takes if it says nothing. Not
/// of files that say it for each kind of layer. `standard`: holds the latter, and must outlive it.
ConfigReader rope_parameters(const Architecture& architecture, const ConfigReader& config,
                             nlohmann::json& standard);

/// How each layer rotates queries and keys; none where it does not. `windowed`: see
/// windowed_layers(). Source: transformers, modeling_rope_utils.py, and Gemma3TextConfig for two
/// kinds of layers.
std::vector<std::optional<Rope>> read_ropes(const Architecture& architecture,
                                            const ConfigReader& config,
                                            const std::vector<bool>& windowed,
                                            const Dimensions& dimensions);

}  // namespace attnscope
