// The contents of attnscope/model/layouts/, which the build puts into the program.
#pragma once

#include <span>
#include <string_view>

namespace attnscope {

std::span<const std::string_view> shipped_layout_texts();

}  // namespace attnscope
