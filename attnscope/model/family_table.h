// The families that are known, by what they are.
#pragma once

#include <string>

namespace attnscope {

/// A Markdown table: what families are, and the model_type of each.
std::string family_table();

}  // namespace attnscope
