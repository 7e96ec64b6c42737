// The classes and functions that a checkpoint's pickle may name.
#pragma once

#include <string_view>

namespace attnscope {

/// Whether a checkpoint may name the class or function `name` of `module`. The name is never used
/// to look anything up. For Python's standard library and for torch modules that create tensors,
/// only a fixed list of names is allowed. Names from the program that trained the model are allowed
/// and skipped.
bool may_be_named(std::string_view module, std::string_view name);

}  // namespace attnscope
