// The list of architectures that attnscope supports.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/architecture.h"

namespace attnscope {

/// Returns every architecture, in the order in which messages list them.
const std::vector<Architecture>& known_architectures();

/// Finds an architecture by config.json's model_type; returns nothing if it is unknown.
std::optional<Architecture> find_architecture_by_type(std::string_view model_type);

/// Finds an architecture by a class name in config.json's `architectures`, such as
/// "GPT2LMHeadModel".
std::optional<Architecture> find_architecture_by_class(std::string_view class_name);

/// albert, bert, …
std::vector<std::string> architecture_names();

// The supported families, grouped by architecture.

/// A Markdown table: groups of architectures, and the model_type values of each.
std::string family_table();

}  // namespace attnscope
