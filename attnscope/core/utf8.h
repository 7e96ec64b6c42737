// UTF-8, one sequence at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace attnscope {

/// Length in bytes of the UTF-8 sequence at the start of `text`, which is not empty; 0 if it is
/// invalid.
std::size_t utf8_length(std::string_view text);

/// The code point of one valid sequence.
char32_t code_point(std::string_view sequence);

/// Position of the first byte that is not UTF-8; nothing if all are.
std::optional<std::size_t> first_broken_utf8(std::string_view text);

}  // namespace attnscope
