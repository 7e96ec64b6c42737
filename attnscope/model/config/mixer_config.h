// Reads from config.json which layers have attention, and what the others have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Returns the number of layers in the file's list of layer types. None if there is no list, or if
/// its length does not determine the number of layers.
std::optional<std::int64_t> listed_layer_count(const MixerRule& rule, const ConfigReader& config);

/// Sets `mixers` of a spec whose number of layers is set. Throws
/// Error(format) for lists that are too short or contain invalid layers, and for sizes above a
/// limit.
void read_mixers(ModelSpec& spec, const ConfigReader& config);

/// Returns the mixer that the forward pass computes. None if it is not supported, or if all layers
/// have attention only. `activation`: the MLP's activation.
std::optional<MixerSpec> mixer_spec(const ModelSpec& spec, const ConfigReader& config,
                                    Activation activation);

/// Sets `block`, the norms and the place of the mixer of a layer whose mixer is set, if the
/// architecture has blocks.
void set_block(LayerSpec& layer, std::int64_t number, const ModelSpec& spec,
               const ConfigReader& config);

/// Returns the first layer whose mixer is not supported, as a reason. Empty if all are supported.
std::string unknown_mixer(const ModelSpec& spec);

}  // namespace attnscope
