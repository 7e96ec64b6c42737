// Layers that select the keys they see, in config.json.
#pragma once

#include <string>

#include "attnscope/model/config_reader.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// Fills in the indexers of a spec whose layers are known. Returns why they cannot be computed;
/// empty where they can. Throws Error(format) for values of the wrong type or size.
std::string set_indexers(ModelSpec& spec, const ConfigReader& config);

}  // namespace attnscope
