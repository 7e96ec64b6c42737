// Which classes and functions the pickle of a checkpoint may name.
#pragma once

#include <string_view>

namespace attnscope {

/// Whether a checkpoint may name the class or function `name` of `module`. The name is never used
/// to look anything up. For Python's own modules, and torch's that make tensors, a fixed list of
/// names is allowed. Names of the program that trained the model are allowed and skipped.
bool may_be_named(std::string_view module, std::string_view name);

}  // namespace attnscope
