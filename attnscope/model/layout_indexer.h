// Selected keys in a layout file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/model/layout_fields.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// Reads the object `indexer` of `attention`, if there is one, into the architecture of `spec`,
/// whose latents are known, and into `config` what resolve_layers() asks a config.json for.
void parse_layout_indexer(LayoutFields& attention, ModelSpec& spec, nlohmann::json& config);

}  // namespace attnscope
