// Which layers attend and what the others have, from config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// How many layers the file's list of kinds names; none where it has no list, or where that does
/// not say how many there are.
std::optional<std::int64_t> listed_layer_count(const MixerRule& rule, const ConfigReader& config);

/// Fills in `mixers` and `attention_width` of a spec whose number of layers is known. Throws
/// Error(format) for lists that are too short or name no layer, and for sizes over a limit.
void read_mixers(ModelSpec& spec, const ConfigReader& config);

/// What the forward pass computes in layers that do not attend; none where it cannot, or where all
/// layers attend. `activation`: of the MLP.
std::optional<MixerSpec> mixer_spec(const ModelSpec& spec, const ConfigReader& config,
                                    Activation activation);

/// Why the layers cannot be computed: the first whose mixer is not. Empty where all can.
std::string unknown_mixer(const ModelSpec& spec);

}  // namespace attnscope
