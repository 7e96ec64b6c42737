// Multi-head latent attention in config.json.
#pragma once

#include <string>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Fills in the heads and ranks of dimensions whose width and number of heads are known. Throws
/// Error(format) for a number that is missing, not positive, or over a limit.
void read_mla(const MlaRule& rule, const ConfigReader& config, Dimensions& dimensions);

/// Leaves of the spec's weights either W_Q or the two matrices of the queries' latent, as its ranks
/// say.
void keep_mla_weights(ModelSpec& spec);

MlaSpec mla_norms(const MlaRule& rule, const Dimensions& dimensions);

// Layers that select the keys they see, in config.json.

/// Fills in the indexers of a spec whose layers are known. Returns why they cannot be computed;
/// empty where they can. Throws Error(format) for values of the wrong type or size.
std::string set_indexers(ModelSpec& spec, const ConfigReader& config);

}  // namespace attnscope
