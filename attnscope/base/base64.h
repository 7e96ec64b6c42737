// Bytes as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attnscope {

/// RFC 4648, with padding, without line breaks.
std::string base64(std::string_view bytes);

/// The bytes of such a text; nothing where it is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace attnscope
