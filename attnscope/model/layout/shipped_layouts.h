// Layouts of models whose code is published with their weights: a file each in
// attnscope/model/layouts. A file names the values of `model_type`, what the config must contain,
// and a layout whose sizes are taken from the config. docs/formats.md describes the format.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// Returns the text of the layout for a config.json, an object, with a known `model_type`; nothing
/// for another one. Throws Error(unsupported) that names a key whose value the layout does not
/// describe, and Error(format) for a key that is missing.
std::optional<std::string> shipped_layout(const nlohmann::json& config, std::string_view where);

/// All values of `model_type`.
std::vector<std::string> shipped_layout_types();

}  // namespace attnscope
