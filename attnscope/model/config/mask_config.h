// Reads the attention mask of each layer from config.json: causal, sliding window, chunks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/layer_spec.h"

namespace attnscope {

/// Whether no token attends to a later one.
bool is_causal_model(const Architecture& architecture, const ConfigReader& config);

/// For each layer, whether its type has a sliding window, even if the model sets no window size.
std::vector<bool> windowed_layers(const Architecture& architecture, const ConfigReader& config,
                                  std::int64_t layers);

/// Returns the keys that the queries of each layer attend to. `windowed`: see windowed_layers().
std::vector<MaskSpec> read_masks(const Architecture& architecture, const ConfigReader& config,
                                 const std::vector<bool>& windowed);

/// Returns why the mask is unknown; empty if it is known.
std::string unknown_mask(const Architecture& architecture, const ConfigReader& config);

}  // namespace attnscope
