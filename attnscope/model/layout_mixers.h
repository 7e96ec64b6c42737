// The part of a layout file that says which layers do not attend, and what they do instead.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/model/layout_fields.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// Of the object `mixers`. What config.json would say of layers goes to `config`.
void parse_layout_mixers(LayoutFields fields, ModelSpec& spec, nlohmann::json& config);

}  // namespace attnscope
