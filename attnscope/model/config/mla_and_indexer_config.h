// Reads multi-head latent attention (MLA) from config.json.
#pragma once

#include <string>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Sets the heads and ranks of dimensions whose hidden size and number of heads are set. Throws
/// Error(format) for a number that is missing, not positive, or above a limit.
void read_mla(const MlaRule& rule, const ConfigReader& config, Dimensions& dimensions);

/// Keeps either W_Q or the two matrices of the query latent in the spec's weights, depending on its
/// ranks.
void keep_mla_weights(ModelSpec& spec);

MlaSpec mla_norms(const MlaRule& rule, const Dimensions& dimensions);

// Reads the layers that select their keys from config.json.

/// Sets the indexers of a spec whose layers are set. Returns why they are not supported; empty if
/// they are. Throws Error(format) for values of the wrong type or size.
std::string set_indexers(ModelSpec& spec, const ConfigReader& config);

}  // namespace attnscope
