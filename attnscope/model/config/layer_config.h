// From config.json and the description of an architecture to the forward pass, layer by layer.
#pragma once

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Fills in layers, stream, head and not_run of a spec whose architecture and dimensions are known.
/// Throws Error(format) for values of the wrong type or size. Unknown values, such as the name of
/// an activation, go to `not_run`, because the weights can still be analysed.
void resolve_layers(ModelSpec& spec, const ConfigReader& config);

}  // namespace attnscope
