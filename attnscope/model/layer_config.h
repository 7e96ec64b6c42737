// From config.json and the description of an architecture to the forward pass, layer by layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/model/config_reader.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// Fills in layers, stream, head and not_run of a spec whose architecture and dimensions are known.
/// Throws Error(format) for values of the wrong type or size. What is merely unknown, such as the
/// name of an activation, is told in `not_run`: weights can be analysed all the same.
void resolve_layers(ModelSpec& spec, const ConfigReader& config);

/// Which layers are of the kind that sees a window, whether there is one or not.
std::vector<bool> windowed_layers(const Architecture& architecture, const ConfigReader& config,
                                  std::int64_t layers);

/// Whether no token sees those after it.
bool reads_one_way(const Architecture& architecture, const ConfigReader& config);

/// Which keys the queries of each layer see. `windowed`: of each layer.
std::vector<MaskSpec> read_masks(const Architecture& architecture, const ConfigReader& config,
                                 const std::vector<bool>& windowed);

/// Why that is not known; empty where it is.
std::string unknown_mask(const Architecture& architecture, const ConfigReader& config);

/// How each layer turns queries and keys. `windowed`: of each layer. Source: transformers,
/// modeling_rope_utils.py, and Gemma3TextConfig for two kinds of layers.
std::vector<Rope> read_ropes(const RopeRule& rule, const ConfigReader& config,
                             const std::vector<bool>& windowed, const Dimensions& dimensions);

}  // namespace attnscope
