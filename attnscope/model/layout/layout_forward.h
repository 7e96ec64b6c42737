// The forward pass in a layout file: norms, attention, RoPE, embedding and head.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/model/layout/layout_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Reads everything but dimensions and weights into the architecture of `spec`. Returns the keys
/// that a config.json would have, for resolve_layers(): layers with windows, and RoPE scaling.
nlohmann::json parse_layout_forward(LayoutFields& fields, ModelSpec& spec);

}  // namespace attnscope
