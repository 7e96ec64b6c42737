// Byte order marks of text files, and the Unicode encodings that are not UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attnscope/base/error.h"

namespace attnscope {

/// Returns "UTF-16" or "UTF-32" if `bytes` begin with its byte order mark, otherwise nothing.
std::optional<std::string_view> marked_encoding(std::string_view bytes);

/// Returns the encoding with its byte order, such as "UTF-16LE", for text without a mark. It
/// recognizes ASCII characters padded with zero bytes, which UTF-8 text does not contain.
std::optional<std::string_view> unmarked_encoding(std::string_view bytes);

/// Throws Error(format) that names `encoding` and explains how to convert the file.
[[noreturn]] void refuse_encoding(ErrorParts where, std::string_view encoding);

/// Returns a file's text without the UTF-8 byte order mark that Windows programs write. Throws
/// Error(format) if the file has a UTF-16 or UTF-32 mark.
std::string without_byte_order_mark(std::string bytes, ErrorParts where);

// Encodes bytes as text.

/// Base64 (RFC 4648), with padding, without line breaks.
std::string base64(std::string_view bytes);

/// Decodes base64. Returns nothing if the text is invalid.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace attnscope
