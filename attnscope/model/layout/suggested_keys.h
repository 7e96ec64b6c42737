// Which keys of an unknown model's config.json are understood.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "attnscope/model/layout/suggested_templates.h"

namespace attnscope {

/// Copies settings with alternative names to the names that the template uses. Returns what remains
/// open: missing required keys, and alternative names with different values.
std::vector<std::string> use_usual_names(const OfferTemplate& fitting, nlohmann::json& config);

/// Returns keys that may change the forward pass but that were not looked up, with their parent
/// objects: "rope_parameters.mrope_section". Null values are ignored.
std::vector<std::string> unknown_keys(const nlohmann::json& config,
                                      const std::set<std::string>& asked);

}  // namespace attnscope
