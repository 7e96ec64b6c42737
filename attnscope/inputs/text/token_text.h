// Formats tokens as readable text, on one line, without characters that control a terminal.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

enum class Spaces {
  kept,
  visible,  // as `␣`, where the beginning and end of a token would not be visible
};

/// Returns a token's bytes as readable text in UTF-8. A byte of an invalid sequence becomes `\xE2`,
/// a newline `\n`, a tab `\t`, a backslash `\\`. Invisible characters and those that move others
/// (controls, bidirectional marks, joiners, variation selectors) become `\u{200D}`.
std::string token_text(std::string_view bytes, Spaces spaces = Spaces::kept);

}  // namespace attnscope
