// Which keys of an unknown model's config.json are understood.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "attnscope/model/layout/suggested_templates.h"

namespace attnscope {

/// Writes under the template's own names what the config says under other ones. Returns what stays
/// open: needed keys that are absent, and names for one thing that say different things.
std::vector<std::string> use_usual_names(const OfferTemplate& fitting, nlohmann::json& config);

/// Keys that may change the forward pass and that nothing asked for, with the objects that hold
/// them: "rope_parameters.mrope_section". Null values say nothing.
std::vector<std::string> unknown_keys(const nlohmann::json& config,
                                      const std::set<std::string>& asked);

}  // namespace attnscope
