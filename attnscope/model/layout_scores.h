// Biases and sinks of scores in a layout file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/model/layout_fields.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// Reads what `attention` says of them into the architecture of `spec`, and into `config` what
/// resolve_layers() asks a config.json for.
void parse_layout_scores(LayoutFields& attention, ModelSpec& spec, nlohmann::json& config);

}  // namespace attnscope
