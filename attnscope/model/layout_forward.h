// The forward pass in a layout file: norms, attention, rotary positions, embedding and head.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/model/layout_fields.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// Reads what the file says beside dimensions and weights into the architecture of `spec`. Gives
/// what a config.json would say of its layers, for resolve_layers(): which see a window, and how
/// rotary positions are scaled.
nlohmann::json parse_layout_forward(LayoutFields& fields, ModelSpec& spec);

}  // namespace attnscope
