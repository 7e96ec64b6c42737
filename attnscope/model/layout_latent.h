// Multi-head latent attention in a layout file.
#pragma once

#include "attnscope/model/layout_fields.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// Reads the object `latent`, if there is one, into a spec whose heads are known. Throws
/// Error(format).
void parse_layout_latent(LayoutFields& fields, ModelSpec& spec);

/// Refuses weights that a model with, or without, these latents does not store.
void check_layout_latent(const LayoutFields& fields, const ModelSpec& spec);

}  // namespace attnscope
