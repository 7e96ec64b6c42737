// Attention in a layout file: MLA, scores, windows, selected keys, RoPE.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/model/layout/layout_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Reads the object `latent` (MLA), if there is one, into a spec whose heads are set. Throws
/// Error(format).
void parse_layout_mla(LayoutFields& fields, ModelSpec& spec);

/// Rejects weights that a model with (or without) these latents does not store.
void check_layout_mla(const LayoutFields& fields, const ModelSpec& spec);

/// Reads the object `attention` into the architecture of `spec`, whose latents are set. Writes the
/// keys that resolve_layers() reads from a config.json into `config`.
void parse_layout_attention(LayoutFields fields, ModelSpec& spec, nlohmann::json& config);

/// Reads the object `rope`. `config`: as in parse_layout_attention().
RopeRule parse_layout_rope(LayoutFields fields, const Dimensions& dimensions,
                           nlohmann::json& config);

}  // namespace attnscope
