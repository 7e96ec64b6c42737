// Which classes and functions the pickle of a checkpoint may name.
#pragma once

#include <string_view>

namespace attnscope {

/// Whether a checkpoint may hold the class or function `name` of `module`. Nothing is ever looked
/// up by it. Of Python's own modules, and of torch's that make tensors, only a fixed list may be
/// named; what belongs to the program that trained the model is stepped over.
bool may_be_named(std::string_view module, std::string_view name);

}  // namespace attnscope
