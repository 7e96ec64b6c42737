// Reads the forward pass, layer by layer, from config.json and the description of an architecture.
#pragma once

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Sets layers, stream, head and not_run of a spec whose architecture and dimensions are set.
/// Throws Error(format) for values of the wrong type or size. Unknown values, such as the name of
/// an activation, go to `not_run`, because the weights can still be analyzed.
void resolve_layers(ModelSpec& spec, const ConfigReader& config);

}  // namespace attnscope
