// Multi-head latent attention in config.json.
#pragma once

#include "attnscope/model/config_reader.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// Fills in the heads and ranks of dimensions whose width and number of heads are known. Throws
/// Error(format) for a number that is missing, not positive, or over a limit.
void read_latent(const LatentRule& rule, const ConfigReader& config, Dimensions& dimensions);

/// Leaves of the spec's weights either W_Q or the two matrices of the queries' latent, as its ranks
/// say.
void keep_latent_weights(ModelSpec& spec);

LatentSpec latent_norms(const LatentRule& rule, const Dimensions& dimensions);

}  // namespace attnscope
