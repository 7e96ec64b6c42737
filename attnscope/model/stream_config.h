// From config.json and an architecture to what a model's residual stream starts from.
#pragma once

#include <string>

#include "attnscope/model/config_reader.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// Fills in `stream`: embeddings, patches or sound, and the last norm. What is not known goes to
/// `not_run`, as in resolve_layers().
void set_stream(ModelSpec& spec, const ConfigReader& config);

/// Its part for models that read sound. Why the sound cannot be read; empty where it can.
std::string set_sound(ModelSpec& spec, const ConfigReader& config);

}  // namespace attnscope
