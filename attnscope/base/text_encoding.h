// Byte order marks of text files, and the Unicode encodings that are not UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attnscope/base/error.h"

namespace attnscope {

/// "UTF-16" or "UTF-32" if `bytes` begin with the byte order mark of one. Nothing otherwise.
std::optional<std::string_view> marked_encoding(std::string_view bytes);

/// "UTF-16LE" or another with its byte order, for text without a mark: its first characters are
/// ASCII with zero bytes around them, which UTF-8 text does not have.
std::optional<std::string_view> unmarked_encoding(std::string_view bytes);

/// Throws Error(format) that names `encoding` and says how to convert the file.
[[noreturn]] void refuse_encoding(ErrorParts where, std::string_view encoding);

/// A file's text without its UTF-8 byte order mark, which Windows programs write and which belongs
/// to no text. Throws Error(format) if the file has the mark of UTF-16 or UTF-32.
std::string without_byte_order_mark(std::string bytes, ErrorParts where);

// Bytes as text.

/// RFC 4648, with padding, without line breaks.
std::string base64(std::string_view bytes);

/// The bytes of such a text; nothing where it is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace attnscope
