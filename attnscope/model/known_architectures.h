// The list of architectures that attnscope knows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/architecture.h"

namespace attnscope {

/// Every architecture, in the order in which messages list them.
const std::vector<Architecture>& known_architectures();

/// Finds by config.json's model_type; nothing if none has it.
std::optional<Architecture> find_architecture_by_type(std::string_view model_type);

/// Finds by a class name of config.json's `architectures`, such as "GPT2LMHeadModel".
std::optional<Architecture> find_architecture_by_class(std::string_view class_name);

/// albert, bert, …
std::vector<std::string> architecture_names();

// The families that are known, by what they are.

/// A Markdown table: what families are, and the model_type of each.
std::string family_table();

}  // namespace attnscope
