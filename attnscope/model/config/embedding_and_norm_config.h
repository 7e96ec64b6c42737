// Reads the input of the residual stream from config.json: embeddings, patches or audio.
#pragma once

#include <optional>
#include <string>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Sets `stream`: embeddings, patches or audio, and the final norm. Unknown values go to `not_run`,
/// as in resolve_layers().
void set_stream(ModelSpec& spec, const ConfigReader& config);

/// The part for audio models. Returns why audio cannot be read; empty if it can.
std::string set_audio(ModelSpec& spec, const ConfigReader& config);

// Reads the norms of a layer from config.json and the architecture's rules.

/// Returns the norm whose gains are in `tensor`, a pattern under the prefix. Empty: it has no
/// gains.
NormSpec norm_named(const NormRule& rule, const ConfigReader& config, const std::string& tensor);

/// The same; none if `tensor` is empty.
std::optional<NormSpec> norm_at(const NormRule& rule, const ConfigReader& config,
                                const std::string& tensor);

/// Sets all norms of a layer, whose `parallel` is set.
void set_norms(LayerSpec& layer, const NormRule& rule, const ConfigReader& config);

}  // namespace attnscope
