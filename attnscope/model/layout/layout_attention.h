// Selected keys in a layout file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/model/layout/layout_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Reads the object `indexer` of `attention`, if there is one, into the architecture of `spec`,
/// whose latents are known, and into `config` what resolve_layers() asks a config.json for.
void parse_layout_indexer(LayoutFields& attention, ModelSpec& spec, nlohmann::json& config);

// Multi-head latent attention in a layout file.

/// Reads the object `latent`, if there is one, into a spec whose heads are known. Throws
/// Error(format).
void parse_layout_latent(LayoutFields& fields, ModelSpec& spec);

/// Refuses weights that a model with, or without, these latents does not store.
void check_layout_latent(const LayoutFields& fields, const ModelSpec& spec);

// Biases and sinks of scores in a layout file.

/// Reads what `attention` says of them into the architecture of `spec`, and into `config` what
/// resolve_layers() asks a config.json for.
void parse_layout_scores(LayoutFields& attention, ModelSpec& spec, nlohmann::json& config);

}  // namespace attnscope
