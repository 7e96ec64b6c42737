// From config.json and an architecture to what a model's residual stream starts from.
#pragma once

#include <optional>
#include <string>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Fills in `stream`: embeddings, patches or sound, and the last norm. What is not known goes to
/// `not_run`, as in resolve_layers().
void set_stream(ModelSpec& spec, const ConfigReader& config);

/// Its part for models that read sound. Why the sound cannot be read; empty where it can.
std::string set_audio(ModelSpec& spec, const ConfigReader& config);

// From config.json and the norms of an architecture to those of a layer.

/// The norm whose gains are in `tensor`, a pattern under the prefix. Empty: it has no gains.
NormSpec norm_named(const NormRule& rule, const ConfigReader& config, const std::string& tensor);

/// Likewise; none where `tensor` is empty.
std::optional<NormSpec> norm_at(const NormRule& rule, const ConfigReader& config,
                                const std::string& tensor);

/// All norms of a layer, whose `parallel` is known.
void set_norms(LayerSpec& layer, const NormRule& rule, const ConfigReader& config);

}  // namespace attnscope
